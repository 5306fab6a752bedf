//! Drafts of a stage, from one page to another, and through restarts; and the least time of pages.

use protocol::control::{Answer, ClientMessage, Draft, Entry, ServerMessage, StageView};
use store::StudyStore;

use super::host::{Host, Running};
use super::page::Page;

const FORMS: &str = "format: 1
study: {id: forms, version: 1.0.0, title: Forms, contact: lab@example.edu}
timeline:
  - {id: how, type: instructions, pages: [how.md, how.md], min_s: 2}
  - id: ask
    type: survey
    surveyjs:
      elements:
        - {type: comment, name: plan, title: How did you share the work?, isRequired: true}
        - {type: rating, name: fun, title: How much fun was it?}
  - {id: thanks, type: end, file: thanks.md}
";

fn forms() -> Host {
    let host = Host::new();
    let study = host.dir.path().join("study");
    std::fs::write(study.join("study.yaml"), FORMS).unwrap();
    host
}

fn half(page: u16, pages_ms: &[u32], answers: &[(&str, &str)]) -> Draft {
    let answer = |(name, value): &(&str, &str)| Answer {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    Draft {
        page,
        pages_ms: pages_ms.to_vec(),
        answers: answers.iter().map(answer).collect(),
    }
}

/// The stage that the page is sent, and its draft.
async fn told(page: &mut Page) -> (StageView, Option<Draft>) {
    page.until(|message| match message {
        ServerMessage::Stage { view, draft, .. } => Some((view, draft)),
        _ => None,
    })
    .await
}

pub(crate) async fn tell(page: &mut Page, number: u32, stage: u16, draft: &Draft) {
    page.say(&ClientMessage::Draft {
        number,
        stage,
        draft: draft.clone(),
    })
    .await;
}

pub(crate) async fn kept(page: &mut Page) -> u32 {
    page.until(|message| match message {
        ServerMessage::DraftKept { number } => Some(number),
        _ => None,
    })
    .await
}

/// Is done with the instructions.
async fn read(page: &mut Page) {
    assert!(matches!(
        told(page).await.0,
        StageView::Instructions { min_s: 2, .. }
    ));
    page.say(&ClientMessage::StageDone {
        stage: 0,
        answers: Vec::new(),
        pages_ms: vec![1_200, 1_200],
    })
    .await;
    assert!(matches!(told(page).await.0, StageView::Survey { .. }));
}

async fn enter(server: &Running) -> Page {
    Page::enter(server, Entry::Invite(server.links[0].clone())).await
}

#[tokio::test]
async fn a_half_finished_form_is_there_again_on_another_device_and_after_a_restart() {
    let host = forms();
    let server = host.start().await;
    let mut page = enter(&server).await;
    read(&mut page).await;
    let first = half(0, &[400], &[("plan", "\"I co\"")]);
    let second = half(0, &[900], &[("plan", "\"I cook\""), ("fun", "4")]);
    tell(&mut page, 1, 1, &first).await;
    assert_eq!(kept(&mut page).await, 1);
    tell(&mut page, 2, 1, &second).await;
    assert_eq!(kept(&mut page).await, 2);
    // Answers that are not of this form are not stored, and close nothing.
    tell(&mut page, 3, 1, &half(0, &[], &[("else", "1")])).await;
    // The link on another device: acknowledged answers are there.
    let mut other = enter(&server).await;
    assert_eq!(told(&mut other).await.1.as_ref(), Some(&second));
    let token = other.token.clone();
    server.stop().await;

    let server = host.start().await;
    let playing = None;
    let mut page = Page::enter(&server, Entry::Resume { token, playing }).await;
    assert_eq!(told(&mut page).await.1, Some(second.clone()));
    page.say(&ClientMessage::StageDone {
        stage: 1,
        answers: second.answers,
        pages_ms: vec![2_500],
    })
    .await;
    let (view, draft) = told(&mut page).await;
    assert!(matches!(view, StageView::End { .. }));
    assert_eq!(draft, None);
    server.stop().await;
    let store = StudyStore::read(&host.data()).await.unwrap();
    let answers = store.list_responses().await.unwrap();
    let answers: Vec<_> = (answers.iter())
        .map(|row| (&row.item[..], &row.value[..], row.elapsed_ms))
        .collect();
    assert_eq!(
        answers,
        [("plan", "\"I cook\"", 2_500), ("fun", "4", 2_500)]
    );
    let times = store.page_times().await.unwrap();
    let times: Vec<_> = times
        .iter()
        .map(|time| (&time.stage[..], time.page, time.ms))
        .collect();
    assert_eq!(
        times,
        [("how", 0, 1_200), ("how", 1, 1_200), ("ask", 0, 2_500)]
    );
}

#[tokio::test]
async fn drafts_that_come_too_often_or_are_too_long_are_not_kept_and_nothing_else_happens() {
    let host = forms();
    let server = host.start().await;
    let mut page = enter(&server).await;
    read(&mut page).await;
    let long = format!("\"{}\"", "x".repeat(70_000));
    tell(&mut page, 1, 1, &half(0, &[], &[("plan", &long)])).await;
    tell(&mut page, 2, 1, &half(9_999, &[], &[])).await;
    for number in 3..60 {
        tell(&mut page, number, 1, &half(0, &[number], &[])).await;
    }
    page.say(&ClientMessage::Clock { sent_us: 77 }).await;
    let mut numbers = Vec::new();
    // A stage that is sent again is the answer to the last message, behind which nothing of the above can come.
    page.done(1, Vec::new()).await;
    let again = loop {
        match page.hear().await.unwrap() {
            ServerMessage::DraftKept { number } => numbers.push(number),
            ServerMessage::Stage { draft, .. } => break draft,
            _ => {}
        }
    };
    assert_eq!(numbers[0], 3, "the ones before are refused: {numbers:?}");
    assert!(
        (5..20).contains(&numbers.len()),
        "a burst is taken: {numbers:?}"
    );
    let last = numbers[numbers.len() - 1];
    assert_eq!(
        again,
        Some(half(0, &[last], &[])),
        "the last one that was acknowledged"
    );
    server.stop().await;
}

#[tokio::test]
async fn pages_are_read_for_their_least_time() {
    let host = forms();
    let server = host.start().await;
    let mut page = enter(&server).await;
    assert!(matches!(
        told(&mut page).await.0,
        StageView::Instructions { min_s: 2, .. }
    ));
    // A second of slack: clocks differ. And nobody has been on a page for longer than it was shown.
    for hasty in [vec![2_000, 900], vec![2_000], vec![60_000, 60_000]] {
        page.say(&ClientMessage::StageDone {
            stage: 0,
            answers: Vec::new(),
            pages_ms: hasty.clone(),
        })
        .await;
        let (view, _) = told(&mut page).await;
        assert!(matches!(view, StageView::Instructions { .. }), "{hasty:?}");
    }
    server.stop().await;
}
