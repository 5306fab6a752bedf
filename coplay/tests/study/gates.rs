//! Consent and quiz, from the page to the tables.

use protocol::control::{Answer, ClientMessage, Entry, Refusal, StageView};
use store::{Response, StudyStore};

use super::host::Host;
use super::page::Page;

const GATED: &str = "format: 1
study: {id: gated, version: 1.0.0, title: Gated, contact: lab@example.edu}
timeline:
  - {id: consent, type: consent, file: consent.md}
  - {id: how, type: instructions, pages: [how.md]}
  - id: quiz
    type: quiz
    attempts: 2
    retry_from: how
    items: [{name: soup, ask: How many?, choices: [1, 2, 3], answer: 3}]
  - {id: thanks, type: end, file: thanks.md}
";

fn gated() -> Host {
    let host = Host::new();
    let study = host.dir.path().join("study");
    std::fs::write(study.join("study.yaml"), GATED).unwrap();
    std::fs::write(study.join("consent.md"), "# Consent\n").unwrap();
    host
}

fn answer(name: &str, value: String) -> Answer {
    let name = name.to_owned();
    Answer { name, value }
}

async fn responses(host: &Host) -> Vec<Response> {
    let store = StudyStore::read(&host.data()).await.unwrap();
    store.list_responses().await.unwrap()
}

async fn outcomes(host: &Host) -> Vec<Option<String>> {
    let store = StudyStore::read(&host.data()).await.unwrap();
    let sessions = store.sessions().await.unwrap();
    sessions
        .into_iter()
        .map(|session| session.outcome)
        .collect()
}

/// Agrees to the shown text; returns its hash.
async fn agree(page: &mut Page) -> String {
    let StageView::Consent { sha256, .. } = page.stage().await else {
        panic!("not a consent")
    };
    let agreed = answer("agreed", format!("\"{sha256}\""));
    page.done(0, vec![agreed]).await;
    sha256
}

#[tokio::test]
async fn an_agreement_is_kept_with_its_text_and_time_and_every_attempt_at_a_quiz_with_its_answers()
{
    let host = gated();
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    let sha256 = agree(&mut page).await;
    for soup in [2, 3] {
        assert!(matches!(page.stage().await, StageView::Instructions { .. }));
        page.done(1, Vec::new()).await;
        let StageView::Quiz {
            attempt,
            attempts,
            surveyjs,
        } = page.stage().await
        else {
            panic!("not a quiz")
        };
        assert_eq!((i32::from(attempt), attempts), (soup - 1, 2));
        assert!(!surveyjs.to_lowercase().contains("answer"), "{surveyjs}");
        page.done(2, vec![answer("soup", soup.to_string())]).await;
    }
    let StageView::End { outcome, .. } = page.stage().await else {
        panic!("not the end")
    };
    assert_eq!(outcome, "completed");
    server.stop().await;
    let kept = responses(&host).await;
    let row = |row: &Response| (row.stage.clone(), row.item.clone(), row.value.clone());
    let wanted = [
        ("consent", "agreed", format!("\"{sha256}\"")),
        ("quiz", "soup", "2".to_owned()),
        ("quiz", "soup", "3".to_owned()),
    ];
    let wanted = wanted.map(|(stage, item, value)| (stage.to_owned(), item.to_owned(), value));
    assert_eq!(kept.iter().map(row).collect::<Vec<_>>(), wanted);
    assert!(kept[0].at.ends_with('Z'), "{}", kept[0].at);
}

#[tokio::test]
async fn who_does_not_agree_leaves_nothing_but_the_outcome() {
    let host = gated();
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    assert!(matches!(page.stage().await, StageView::Consent { .. }));
    page.done(0, Vec::new()).await;
    let StageView::End {
        outcome,
        page: text,
        ..
    } = page.stage().await
    else {
        panic!("not the end")
    };
    assert_eq!(outcome, "no_consent");
    assert!(text.contains("You chose not to take part"), "{text}");
    server.stop().await;
    assert!(responses(&host).await.is_empty());
    assert_eq!(outcomes(&host).await, [Some("no_consent".to_owned())]);
}

#[tokio::test]
async fn who_has_no_attempt_left_leaves_by_failed_quiz_even_after_a_restart_between_attempts() {
    let host = gated();
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    agree(&mut page).await;
    page.stage().await;
    page.done(1, Vec::new()).await;
    page.stage().await;
    page.done(2, vec![answer("soup", "1".to_owned())]).await;
    assert!(matches!(page.stage().await, StageView::Instructions { .. }));
    let resume = Entry::Resume {
        token: page.token.clone(),
        playing: None,
    };
    server.stop().await;

    let server = host.start().await;
    let mut page = Page::enter(&server, resume).await;
    page.stage().await;
    page.done(1, Vec::new()).await;
    assert!(matches!(
        page.stage().await,
        StageView::Quiz { attempt: 2, .. }
    ));
    page.done(2, vec![answer("soup", "1".to_owned())]).await;
    assert!(
        matches!(page.stage().await, StageView::End { outcome, .. } if outcome == "failed_quiz")
    );
    server.stop().await;
    assert_eq!(outcomes(&host).await, [Some("failed_quiz".to_owned())]);
}

const AWAY: &str = r#"format: 1
study: {id: away, version: 1.0.0, title: Away, contact: lab@example.edu, on_withdraw: erase_own}
timeline:
  - id: form
    type: external
    url: "https://forms.example.edu/?who={{participant}}&back={{return}}"
    code: BLUE-42
    else: technical
  - {id: ask, type: survey, surveyjs: {elements: [{type: rating, name: fun, title: Fun?}]}}
  - {id: debrief, type: debrief, file: how.md, allow_withdraw: true}
  - {id: thanks, type: end, file: thanks.md}
"#;

fn away() -> Host {
    let host = Host::new();
    let study = host.dir.path().join("study");
    std::fs::write(study.join("study.yaml"), AWAY).unwrap();
    host
}

/// The ticket, and the address of the page of another site that the server sends.
async fn ticket(page: &mut Page) -> (String, String) {
    let StageView::External {
        url, ticket, code, ..
    } = page.stage().await
    else {
        panic!("not another site")
    };
    assert!(code);
    (ticket, url)
}

#[tokio::test]
async fn the_way_back_from_another_site_leads_on_once_and_survives_a_restart() {
    let host = away();
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    let (first, url) = ticket(&mut page).await;
    assert!(
        url.starts_with("https://forms.example.edu/?who=P-"),
        "{url}"
    );
    assert!(url.ends_with("&back={{return}}"), "{url}");
    // Neither an empty nor a wrong code leads on.
    page.done(0, Vec::new()).await;
    assert_eq!(ticket(&mut page).await.0, first);
    page.done(0, vec![answer("code", "\"RED\"".to_owned())])
        .await;
    assert_eq!(ticket(&mut page).await.0, first);
    server.stop().await;

    let server = host.start().await;
    let mut back = Page::enter(&server, Entry::Return(first.clone())).await;
    assert!(matches!(back.stage().await, StageView::Survey { .. }));
    // The link, used again, leads to the same place and no further, in the tab in which it is opened.
    let mut again = Page::enter(&server, Entry::Return(first)).await;
    assert!(matches!(again.stage().await, StageView::Survey { .. }));
    let unknown = Page::connect(&server, Entry::Return("no-such-ticket".to_owned()));
    assert_eq!(unknown.await.refusal().await, Refusal::UnknownLink);
    server.stop().await;
}

#[tokio::test]
async fn a_code_leads_on_and_giving_up_leads_to_the_declared_outcome() {
    let host = away();
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    ticket(&mut page).await;
    page.done(0, vec![answer("code", "\"blue-42 \"".to_owned())])
        .await;
    assert!(matches!(page.stage().await, StageView::Survey { .. }));
    let mut other = Page::enter(&server, Entry::Invite(server.links[1].clone())).await;
    ticket(&mut other).await;
    other
        .done(0, vec![answer("cannot", "true".to_owned())])
        .await;
    assert!(
        matches!(other.stage().await, StageView::End { outcome, .. } if outcome == "technical")
    );
    server.stop().await;
}

#[tokio::test]
async fn who_withdraws_gets_a_receipt_and_their_answers_are_gone() {
    let host = away();
    let server = host.start().await;
    for (link, withdraws) in [(0, true), (1, false)] {
        let mut page = Page::enter(&server, Entry::Invite(server.links[link].clone())).await;
        ticket(&mut page).await;
        page.done(0, vec![answer("code", "\"BLUE-42\"".to_owned())])
            .await;
        page.stage().await;
        page.done(1, vec![answer("fun", "4".to_owned())]).await;
        assert!(matches!(
            page.stage().await,
            StageView::Debrief {
                allow_withdraw: true,
                ..
            }
        ));
        let answers = withdraws.then(|| answer("withdraw", "true".to_owned()));
        page.done(2, answers.into_iter().collect()).await;
        let StageView::End {
            outcome, farewell, ..
        } = page.stage().await
        else {
            panic!("not the end")
        };
        let wanted = if withdraws { "withdrew" } else { "completed" };
        assert_eq!(outcome, wanted);
        assert_eq!(farewell.withdrawal.starts_with("W-"), withdraws);
    }
    server.stop().await;
    // Nothing of it comes back with the next start.
    host.start().await.stop().await;
    let kept = responses(&host).await;
    let items: Vec<&str> = kept.iter().map(|row| row.item.as_str()).collect();
    assert_eq!(items, ["code", "fun"], "those of the other person alone");
    let store = StudyStore::read(&host.data()).await.unwrap();
    let withdrawn = store.list_withdrawn().await.unwrap();
    assert_eq!(withdrawn.participants.len(), 1);
    assert!(!withdrawn.participants.contains(&kept[0].participant));
    let position = &store.sessions().await.unwrap()[0].position;
    assert!(!position.contains("\"fun\""), "{position}");
}

const TOLD: &str = "format: 1
study: {id: told, version: 1.0.0, title: Told, contact: lab@example.edu, on_withdraw: erase_own}
timeline:
  - {id: ask, type: survey, surveyjs: {elements: [{type: comment, name: plan, title: Plan?}]}}
  - {id: debrief, type: debrief, file: how.md, allow_withdraw: true}
  - {id: thanks, type: end, file: thanks.md}
";

/// Counts a word in all files of a data folder.
pub(crate) fn count_in_files(folder: &std::path::Path, word: &str) -> usize {
    let entries = std::fs::read_dir(folder).unwrap();
    let found = entries.map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return count_in_files(&path, word);
        }
        let bytes = std::fs::read(&path).unwrap();
        let windows = bytes.windows(word.len());
        windows.filter(|found| *found == word.as_bytes()).count()
    });
    found.sum()
}

#[tokio::test]
async fn who_leaves_early_keeps_or_withdraws_their_data_as_the_study_says() {
    const WORDS: &str = "a plan that nobody else would write";
    for erases in [false, true] {
        let host = Host::new();
        let study = match erases {
            true => TOLD.replace("on_withdraw: erase_own", "on_leave: erase"),
            false => TOLD.to_owned(),
        };
        std::fs::write(host.dir.path().join("study/study.yaml"), study).unwrap();
        let server = host.start().await;
        let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
        page.stage().await;
        page.done(0, vec![answer("plan", format!("\"{WORDS}\""))])
            .await;
        page.stage().await;
        page.say(&ClientMessage::Leave).await;
        let StageView::End {
            outcome, farewell, ..
        } = page.stage().await
        else {
            panic!("not the end")
        };
        assert_eq!(outcome, "left_early");
        assert_eq!(farewell.withdrawal.starts_with("W-"), erases);
        assert_eq!(
            count_in_files(&host.data(), WORDS) == 0,
            erases,
            "while the server still runs"
        );
        server.stop().await;
        assert_eq!(responses(&host).await.is_empty(), erases);
    }
}

#[tokio::test]
async fn of_what_is_withdrawn_no_byte_is_left_in_the_data_folder() {
    const WORDS: &str = "a plan that nobody else would write";
    let host = Host::new();
    std::fs::write(host.dir.path().join("study/study.yaml"), TOLD).unwrap();
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    page.stage().await;
    page.done(0, vec![answer("plan", format!("\"{WORDS}\""))])
        .await;
    page.stage().await;
    assert!(count_in_files(&host.data(), WORDS) > 0, "it was stored");
    page.done(1, vec![answer("withdraw", "true".to_owned())])
        .await;
    assert!(matches!(page.stage().await, StageView::End { outcome, .. } if outcome == "withdrew"));
    assert_eq!(
        count_in_files(&host.data(), WORDS),
        0,
        "while the server still runs"
    );
    server.stop().await;
    host.start().await.stop().await;
    assert_eq!(count_in_files(&host.data(), WORDS), 0, "after a restart");
}
