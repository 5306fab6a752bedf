//! Episodes in turns: several in one visit, ended by a formula, and resumed by the next page of the person.

use env_core::Instance;
use env_core::envs::overcooked::Overcooked;
use protocol::Tick;
use protocol::chain::Chain;
use protocol::control::{
    ClientMessage, EndReason, Entry, Link, Plan, ServerMessage, StageView, Upload,
};
use rollback::Session;

use super::game::{opened, signed};
use super::page::Page;
use super::visits::host;

const TURNS: &str = "format: 1
study: {id: turns, version: 1.0.0, title: Turns, contact: lab@example.edu}
timeline:
  - id: think
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    config: {layout: cramped_room, horizon: 60, tick_hz: 10}
    mode: turns
    episodes: 2
    until: ticks >= 6
    rest: {file: how.md}
";

type World = Instance<Overcooked>;

/// The plan that a page gets, once it is ready for it.
async fn matched(page: &mut Page) -> Plan {
    let plan = |message| match message {
        ServerMessage::Match(plan) => Some(plan),
        _ => None,
    };
    let plan = page.until(plan).await;
    let ready = ClientMessage::Ready {
        era: plan.era,
        links: vec![Link::Direct; 2],
        rtt_us: vec![0; 2],
        loss_permille: Vec::new(),
    };
    page.say(&ready).await;
    plan
}

/// A page begins an episode.
async fn begun(page: &mut Page) -> (Plan, Session<World>) {
    let plan = matched(page).await;
    let start = |message| match message {
        ServerMessage::Start {
            t0_us, input_delay, ..
        } => Some((t0_us, input_delay)),
        _ => None,
    };
    let (t0_us, input_delay) = page.until(start).await;
    let (config, world) = opened(&plan, t0_us, input_delay);
    let cook = policy::by_name("cook", env_core::World::spec(&world));
    (plan, Session::new(config, world, vec![None, cook]))
}

/// Lets the person act this often, and the page upload the new inputs.
async fn act(
    page: &mut Page,
    plan: &Plan,
    (session, chain): (&mut Session<World>, &mut Chain),
    turns: u64,
) {
    let t0_us = session.config().t0_us;
    for turn in 0..turns {
        let action = (turn % 5) as u16;
        assert!(session.handle_action(t0_us + turn, action).is_some());
    }
    let upload = Upload {
        era: plan.era,
        life: plan.life,
        block: signed(chain, session),
        changes: session.changes(),
        recheck: 0,
        digests: session.digests().to_vec(),
        timing: None,
        ended: session.ended(),
    };
    page.say(&ClientMessage::Upload(upload)).await;
}

async fn ended(page: &mut Page) -> (EndReason, Tick) {
    page.until(|message| match message {
        ServerMessage::Ended { reason, ticks, .. } => Some((reason, ticks)),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn turns_are_taken_up_by_the_next_page_and_verify() {
    let host = host(TURNS);
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    let (plan, mut session) = begun(&mut page).await;
    assert_eq!(plan.round, (0, 2));
    let begin = |plan: &Plan, first| Chain::new(&plan.episode, plan.seat, plan.life, first);
    let mut chain = begin(&plan, Tick(0));
    act(&mut page, &plan, (&mut session, &mut chain), 4).await;
    let durable = |message| match message {
        ServerMessage::Archived { through, .. } => (through == Tick(4)).then_some(()),
        _ => None,
    };
    page.until(durable).await;

    // The tab is closed, and opened again.
    let entry = Entry::Resume {
        token: page.token.clone(),
        playing: None,
    };
    drop(page);
    let mut page = Page::enter(&server, entry).await;
    let plan = matched(&mut page).await;
    assert!(plan.running);
    let back = |message| match message {
        ServerMessage::Return(back) => Some(back),
        _ => None,
    };
    let back = page.until(back).await;
    assert_eq!(back.tick, Tick(4));
    let (config, world) = opened(&plan, back.t0_us, back.input_delay);
    let spec = env_core::World::spec(&world).clone();
    let partner = |name: &str| policy::by_name(name, &spec);
    let mut session = Session::resume(config, world, partner, &back).unwrap();
    let mut chain = begin(&plan, Tick(4));
    act(&mut page, &plan, (&mut session, &mut chain), 2).await;
    assert_eq!(session.ended(), Some(Tick(6)));
    assert_eq!(ended(&mut page).await, (EndReason::Played, Tick(6)));
    assert!(matches!(
        page.stage().await,
        StageView::Rest { round: (1, 2), .. }
    ));

    page.done(0, Vec::new()).await;
    let (plan, mut session) = begun(&mut page).await;
    assert_eq!(plan.round, (1, 2));
    let mut chain = begin(&plan, Tick(0));
    act(&mut page, &plan, (&mut session, &mut chain), 6).await;
    assert_eq!(ended(&mut page).await, (EndReason::Played, Tick(6)));
    assert!(matches!(page.stage().await, StageView::End { .. }));
    server.stop().await;
    let report = dataset::verify::verify_data(&host.data()).await.unwrap();
    assert!(report.is_fine(), "{report}");
    assert_eq!(report.episodes.len(), 2);
}
