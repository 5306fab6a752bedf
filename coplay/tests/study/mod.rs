//! The whole server, in process: real sockets, real files, and two pages that are scripts around native sessions.
//! Time inside an episode is the scripts' own; nothing waits for a clock.

mod complaints;
mod crowd;
mod drafts;
mod entry;
mod game;
mod gates;
mod host;
mod limits;
mod page;
mod privacy;
mod requests;
mod retention;
mod servers;
mod turns;
mod visits;

use std::path::Path;

use futures_util::SinkExt as _;
use protocol::control::{ClientMessage, Entry, Refusal, ServerMessage, StageView};
use protocol::{Life, Seat, Tick};
use signaling_server::server::{Server, ServerOptions};
use store::study_version::OnStudyChange;
use tokio_tungstenite::tungstenite::Message;

use game::meet;
use host::{HORIZON, Host};
use page::Page;

async fn verified(data: &Path) -> dataset::verify::Verified {
    let report = dataset::verify::verify_data(data).await.unwrap();
    assert!(report.is_fine(), "{report}");
    assert_eq!(report.episodes.len(), 1);
    report.episodes.into_iter().next().unwrap()
}

#[tokio::test]
async fn two_people_go_through_the_study_and_the_data_verifies() {
    let host = Host::new();
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(HORIZON).await;
    game.finish().await;
    let mut used = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    let StageView::End { outcome, .. } = used.stage().await else {
        panic!("who is done reads the last page again")
    };
    assert_eq!(outcome, "completed");
    server.stop().await;
    let episode = verified(&host.data()).await;
    assert_eq!(episode.ticks, HORIZON);
    assert_eq!(episode.reason, Some("played"));
}

#[tokio::test]
async fn a_restart_mid_episode_loses_nothing_and_the_upload_resumes() {
    let host = Host::new();
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(20).await;
    let through = game.archive_both().await;
    assert!(through.0 >= 20);
    server.stop().await;

    let server = host.start().await;
    for seat in 0..2 {
        let entry = Entry::Resume {
            token: game.pages[seat].token.clone(),
            playing: Some((game.era, Life(0))),
        };
        let mut page = Page::enter(&server, entry).await;
        let running = |message| {
            if let ServerMessage::Running { through, .. } = message {
                Some(through)
            } else {
                None
            }
        };
        assert_eq!(
            page.until(running).await,
            through,
            "what was acknowledged is there"
        );
        game.pages[seat] = page;
    }
    game.play(HORIZON).await;
    game.finish().await;
    server.stop().await;
    assert_eq!(verified(&host.data()).await.ticks, HORIZON);
}

#[tokio::test]
async fn a_reload_between_stages_resumes_there_even_after_a_restart() {
    let host = Host::new();
    let server = host.start().await;
    let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    page.stage().await;
    page.done(0, Vec::new()).await;
    assert!(matches!(page.stage().await, StageView::Lobby { .. }));
    let links = server.links.clone();
    server.stop().await;

    let server = host.start().await;
    assert_eq!(server.links, links, "links are printed again");
    let mut again = Page::enter(
        &server,
        Entry::Resume {
            token: page.token.clone(),
            playing: None,
        },
    )
    .await;
    assert!(matches!(again.stage().await, StageView::Lobby { .. }));
    // The same link in another window: the newer page continues, and the older one learns why it stops.
    let mut newer = Page::enter(&server, Entry::Invite(links[0].clone())).await;
    assert!(matches!(newer.stage().await, StageView::Lobby { .. }));
    again
        .until(|message| (message == ServerMessage::Superseded).then_some(()))
        .await;
    server.stop().await;
}

#[tokio::test]
async fn wrong_links_and_malformed_messages_are_refused() {
    let host = Host::new();
    let server = host.start().await;
    for (entry, why) in [
        (Entry::Open, Refusal::UnknownLink),
        (
            Entry::Invite("nobody-knows-this".into()),
            Refusal::UnknownLink,
        ),
        (
            Entry::Resume {
                token: "nor this".into(),
                playing: None,
            },
            Refusal::UnknownLink,
        ),
    ] {
        assert_eq!(Page::connect(&server, entry).await.refusal().await, why);
    }
    let too_long = vec![protocol::VERSION; protocol::control::MAX_MESSAGE + 1];
    for (bytes, why) in [
        (vec![protocol::VERSION, 200, 1, 2], Refusal::Malformed),
        (vec![protocol::VERSION + 1, 0], Refusal::OldPage),
        (Vec::new(), Refusal::Malformed),
        (too_long, Refusal::Malformed),
    ] {
        let mut page = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
        page.socket
            .send(Message::Binary(bytes.into()))
            .await
            .unwrap();
        assert_eq!(page.refusal().await, why);
        assert_eq!(page.hear().await, None, "the connection is closed");
    }
    // The server still serves.
    Page::enter(&server, Entry::Invite(server.links[1].clone())).await;
    server.stop().await;
}

#[tokio::test]
async fn a_reloaded_page_comes_back_into_its_game_and_the_data_verifies() {
    let host = Host::new();
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(20).await;
    game.archive_both().await;
    let entry = Entry::Resume {
        token: game.pages[1].token.clone(),
        playing: None,
    };
    game.pages[1] = Page::enter(&server, entry).await;
    game.lose_second().await;
    game.come_back().await;
    game.play_out().await;
    server.stop().await;
    let episode = verified(&host.data()).await;
    assert_eq!((episode.ticks, episode.reason), (HORIZON, Some("played")));
}

#[tokio::test]
async fn a_page_that_simulates_another_game_goes_on_from_the_servers_state() {
    let host = Host::new();
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(20).await;
    game.archive(0).await;
    let mut upload = game.upload(1);
    upload.digests[0].1 ^= 1;
    let wrong = ClientMessage::Upload(upload.clone());
    game.pages[1].say(&wrong).await;
    // It gets the inputs of the other, and must send its digests again.
    let asked = |message| match message {
        ServerMessage::Recheck { number, agreed, .. } => Some((number, agreed)),
        _ => None,
    };
    let (number, agreed) = game.pages[1].until(asked).await;
    assert_eq!((number, agreed), (1, Tick(0)));
    (upload.recheck, upload.block) = (number, None);
    game.pages[1].say(&ClientMessage::Upload(upload)).await;
    game.lose_second().await;
    let change = game.change(1).await;
    assert_eq!((change.seat, change.life), (Seat(1), Life(1)), "it is told");
    let era = game.era;
    game.pages[1].say(&ClientMessage::TakeBack { era }).await;
    game.come_back().await;
    game.play_out().await;
    server.stop().await;
    assert_eq!(verified(&host.data()).await.reason, Some("played"));
}

#[tokio::test]
async fn a_data_folder_of_another_study_is_left_alone() {
    for is_somebody_there in [true, false] {
        let host = Host::new();
        let server = host.start().await;
        if is_somebody_there {
            Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
        }
        server.stop().await;
        let file = host.dir.path().join("study/study.yaml");
        let other = std::fs::read_to_string(&file).unwrap();
        let changed = other.replace("id: overcooked-dyad", "id: another");
        std::fs::write(&file, changed).unwrap();
        for changed in [
            OnStudyChange::Refuse,
            OnStudyChange::Carry,
            OnStudyChange::End,
        ] {
            let options = ServerOptions {
                changed,
                ..host.options()
            };
            let error = Server::start(options).await.err().unwrap();
            let said = error.to_string();
            assert!(
                said.contains("`overcooked-dyad`") && said.contains("--data"),
                "{said}"
            );
        }
        std::fs::write(&file, other).unwrap();
        host.start().await.stop().await;
    }
}

/// Replaces a text of the study file.
fn change(host: &Host, from: &str, to: &str) {
    let file = host.dir.path().join("study/study.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(&file, text.replace(from, to)).unwrap();
}

#[tokio::test]
async fn a_study_that_changed_under_people_on_their_way_is_not_served_unless_told() {
    let host = Host::new();
    let server = host.start().await;
    let link = server.links[0].clone();
    Page::enter(&server, Entry::Invite(link.clone())).await;
    server.stop().await;
    let with = |changed| ServerOptions {
        changed,
        ..host.options()
    };
    let refusal = async |changed| {
        let error = Server::start(with(changed)).await.err().unwrap();
        error.to_string()
    };

    change(&host, "title: About the round", "title: The round");
    let said = refusal(OnStudyChange::Refuse).await;
    assert!(
        said.contains("one participant is on the way") && said.contains("--changed carry"),
        "{said}"
    );
    drop(Server::start(with(OnStudyChange::Carry)).await.unwrap());
    drop(Server::start(with(OnStudyChange::Refuse)).await.unwrap());

    change(
        &host,
        "timeline:\n",
        "timeline:\n  - {id: more, type: instructions, pages: [how.md]}\n",
    );
    let said = refusal(OnStudyChange::Refuse).await;
    assert!(!said.contains("--changed carry"), "{said}");
    let said = refusal(OnStudyChange::Carry).await;
    assert!(said.contains("other stages, blocks or factors"), "{said}");
    let server = Server::start(with(OnStudyChange::End)).await.unwrap();
    assert!(!server.links.contains(&link), "the session is over");
    drop(server);
    drop(Server::start(with(OnStudyChange::Refuse)).await.unwrap());
}
