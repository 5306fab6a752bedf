//! The whole server, in process: real sockets, real files, and two pages that are scripts around native sessions.
//! Time inside an episode is the scripts' own; nothing waits for a clock.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use env_core::Instance;
use env_core::envs::overcooked::Overcooked;
use futures_util::{SinkExt as _, StreamExt as _};
use protocol::change::Change;
use protocol::control::{
    Answer, ClientMessage, EndReason, Entry, Link, Plan, Refusal, ServerMessage, StageView, Upload,
    decode, encode,
};
use protocol::{Controller, Era, Life, Seat, Tick};
use rollback::{Config, Session};
use signaling_server::assets::Assets;
use signaling_server::config::Limits;
use signaling_server::server::{Options, Server};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Ticks of the test's episode.
const HORIZON: u32 = 60;

/// How long a message may take before a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

struct Host {
    dir: TempDir,
}

struct Running {
    address: String,
    links: Vec<String>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<anyhow::Result<()>>,
}

impl Host {
    /// The example study with a short episode, and a front end with a module.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
        let (study, modules) = (dir.path().join("study"), dir.path().join("dist/modules"));
        std::fs::create_dir_all(&study).unwrap();
        std::fs::create_dir_all(&modules).unwrap();
        for page in ["how.md", "thanks.md"] {
            std::fs::copy(example.join(page), study.join(page)).unwrap();
        }
        let text = std::fs::read_to_string(example.join("study.yaml")).unwrap();
        let short = text.replace("horizon: 900", &format!("horizon: {HORIZON}"));
        assert_ne!(text, short);
        std::fs::write(study.join("study.yaml"), short).unwrap();
        std::fs::write(dir.path().join("dist/index.html"), "<title>page</title>").unwrap();
        std::fs::write(modules.join("overcooked.wasm"), b"\0asm\x01\0\0\0").unwrap();
        Self { dir }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn options(&self) -> Options {
        Options {
            study: self.dir.path().join("study"),
            data: self.data(),
            links: 2,
            open: false,
            assets: Assets::Folder(self.dir.path().join("dist")),
            limits: Limits {
                // The scripts play faster than the clock.
                early: PATIENCE,
                ..Limits::default()
            },
            turn: None,
        }
    }

    async fn start(&self) -> Running {
        let server = Server::start(self.options()).await.unwrap();
        let links = server.links.clone();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(listener, async { drop(stopped.await) }));
        Running {
            address,
            links,
            stop,
            serving,
        }
    }
}

impl Running {
    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap().unwrap();
    }
}

/// A participant's page.
struct Page {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    token: String,
}

impl Page {
    async fn connect(host: &Running, entry: Entry) -> Self {
        let (socket, _) = connect_async(format!("ws://{}/session", host.address))
            .await
            .unwrap();
        let mut page = Self {
            socket,
            token: String::new(),
        };
        page.say(&ClientMessage::Hello { entry }).await;
        page
    }

    async fn enter(host: &Running, entry: Entry) -> Self {
        let mut page = Self::connect(host, entry).await;
        page.token = page
            .until(|message| match message {
                ServerMessage::Welcome { session, .. } => Some(session),
                _ => None,
            })
            .await;
        page
    }

    async fn say(&mut self, message: &ClientMessage) {
        self.socket
            .send(Message::Binary(encode(message).into()))
            .await
            .unwrap();
    }

    async fn done(&mut self, stage: u16, answers: Vec<Answer>) {
        self.say(&ClientMessage::StageDone {
            stage,
            answers,
            elapsed_ms: 1_000,
        })
        .await;
    }

    /// The next message; none once the server has closed.
    async fn hear(&mut self) -> Option<ServerMessage> {
        loop {
            let frame = tokio::time::timeout(PATIENCE, self.socket.next())
                .await
                .expect("the server answers in time");
            match frame {
                Some(Ok(Message::Binary(bytes))) => return Some(decode(&bytes).unwrap()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(other)) => panic!("unexpected {other:?}"),
            }
        }
    }

    /// Messages until one that is looked for; those before it are let go.
    async fn until<T>(&mut self, mut found: impl FnMut(ServerMessage) -> Option<T>) -> T {
        loop {
            let message = self.hear().await.expect("the server does not close");
            if let Some(found) = found(message) {
                return found;
            }
        }
    }

    async fn stage(&mut self) -> StageView {
        self.until(|message| match message {
            ServerMessage::Stage { view, .. } => Some(view),
            _ => None,
        })
        .await
    }

    async fn refusal(&mut self) -> Refusal {
        self.until(|message| match message {
            ServerMessage::Refused { why } => Some(why),
            _ => None,
        })
        .await
    }
}

/// Two pages in an episode.
struct Match {
    pages: [Page; 2],
    era: Era,
    sessions: [Session<Instance<Overcooked>>; 2],
    lives: [Life; 2],
    now_us: u64,
}

/// What a page makes of its plan.
fn opened(plan: &Plan, t0_us: u64, input_delay: u8) -> (Config, Instance<Overcooked>) {
    let world = Instance::new(env_core::envs::build::<Overcooked>(plan.params.as_bytes()).unwrap());
    let config = Config {
        era: plan.era,
        local: Some(plan.seat),
        controllers: plan.controllers.clone(),
        seed: plan.seed,
        tick_hz: plan.tick_hz,
        input_delay,
        window: plan.window,
        t0_us,
    };
    (config, world)
}

/// Two people read, are matched, and get ready.
async fn meet(host: &Running) -> Match {
    let mut pages = [
        Page::enter(host, Entry::Invite(host.links[0].clone())).await,
        Page::enter(host, Entry::Invite(host.links[1].clone())).await,
    ];
    for page in &mut pages {
        assert!(matches!(page.stage().await, StageView::Instructions { .. }));
        page.done(0, Vec::new()).await;
        // The second only comes once the first waits, so that the seats are known.
        assert!(matches!(page.stage().await, StageView::Lobby { .. }));
    }
    let mut plans: Vec<Plan> = Vec::new();
    for page in &mut pages {
        let plan = page
            .until(|message| {
                if let ServerMessage::Match(plan) = message {
                    Some(plan)
                } else {
                    None
                }
            })
            .await;
        let (era, links) = (plan.era, vec![Link::Relay; 2]);
        plans.push(plan);
        page.say(&ClientMessage::Ready {
            era,
            links,
            rtt_us: vec![0, 0],
        })
        .await;
    }
    assert!(
        plans
            .iter()
            .all(|plan| plan.controllers == [Controller::Human, Controller::Human])
    );
    let mut starts = Vec::new();
    for page in &mut pages {
        starts.push(
            page.until(|message| match message {
                ServerMessage::Start {
                    t0_us, input_delay, ..
                } => Some((t0_us, input_delay)),
                _ => None,
            })
            .await,
        );
    }
    assert_eq!(starts[0], starts[1]);
    let session = |plan: &Plan| {
        let (config, world) = opened(plan, starts[0].0, starts[0].1);
        Session::new(config, world, vec![None, None])
    };
    assert!(plans[0].seat < plans[1].seat);
    let sessions = [session(&plans[0]), session(&plans[1])];
    Match {
        pages,
        era: plans[0].era,
        sessions,
        lives: [Life(0); 2],
        now_us: starts[0].0,
    }
}

impl Match {
    /// Plays through the relay until so many ticks are confirmed on both pages.
    async fn play(&mut self, ticks: u32) {
        while self
            .sessions
            .iter()
            .any(|session| session.confirmed().0 < ticks)
        {
            self.now_us += 50_000;
            for from in 0..2 {
                let action = ((self.now_us / 50_000 + from as u64 * 3) % 5) as u16;
                self.sessions[from].handle_action(self.now_us, action);
                self.sessions[from].handle_timeout(self.now_us);
                self.pass_on(from).await;
            }
        }
    }

    /// Sends what a session has to say through the server, and hands it to the other.
    async fn pass_on(&mut self, from: usize) {
        let mut sent = 0;
        while let Some(transmit) = self.sessions[from].poll_transmit() {
            let message = ClientMessage::Relay {
                to: transmit.to,
                bytes: transmit.bytes.to_vec(),
            };
            self.pages[from].say(&message).await;
            sent += 1;
        }
        for _ in 0..sent {
            let relayed = |message| {
                if let ServerMessage::Relay { bytes, .. } = message {
                    Some(bytes)
                } else {
                    None
                }
            };
            let bytes = self.pages[1 - from].until(relayed).await;
            self.sessions[1 - from]
                .handle_datagram(self.now_us, Seat(from as u8), &bytes)
                .unwrap();
        }
    }

    fn upload(&self, seat: usize, first: u32) -> ClientMessage {
        let session = &self.sessions[seat];
        let skipped = (first - session.first_tick().0) as usize * 2;
        let rows = session.rows()[skipped..].to_vec();
        let (digests, ended) = (session.digests().to_vec(), session.ended());
        ClientMessage::Upload(Upload {
            era: self.era,
            life: self.lives[seat],
            first: Tick(first),
            rows,
            digests,
            timing: Default::default(),
            ended,
        })
    }

    /// The first page answers a fence of the second seat, and takes the change that follows.
    async fn fence(&mut self) {
        let fenced = |message| match message {
            ServerMessage::Fence { seat, life, .. } => Some((seat, life)),
            _ => None,
        };
        let (seat, life) = self.pages[0].until(fenced).await;
        assert_eq!((seat, life), (Seat(1), self.lives[1]));
        let report = self.sessions[0].handle_fence(seat, life).unwrap();
        let era = self.era;
        self.pages[0]
            .say(&ClientMessage::Report { era, report })
            .await;
        let change = self.change(0).await;
        assert_eq!(change.controller, Controller::Vacant);
    }

    /// A page hears of a change.
    async fn change(&mut self, page: usize) -> Change {
        let changed = |message| match message {
            ServerMessage::Change { change, .. } => Some(change),
            _ => None,
        };
        let change = self.pages[page].until(changed).await;
        self.sessions[page]
            .handle_change(self.now_us, &change, None)
            .unwrap();
        change
    }

    /// The second page gets its seat back from the server's state.
    async fn come_back(&mut self) {
        let page = &mut self.pages[1];
        let planned = |message| match message {
            ServerMessage::Match(plan) => Some(plan),
            _ => None,
        };
        let plan = page.until(planned).await;
        assert!(plan.running && plan.window > 0 && plan.seat == Seat(1));
        let ready = ClientMessage::Ready {
            era: plan.era,
            links: vec![Link::Relay; 2],
            rtt_us: vec![0, 0],
        };
        page.say(&ready).await;
        let returned = |message| match message {
            ServerMessage::Return(back) => Some(back),
            _ => None,
        };
        let back = page.until(returned).await;
        let (config, world) = opened(&plan, back.t0_us, back.input_delay);
        self.sessions[1] = Session::resume(config, world, |_| None, &back).unwrap();
        self.lives[1] = plan.life;
        let change = self.change(0).await;
        assert_eq!(
            (&change.controller, change.life),
            (&Controller::Human, plan.life)
        );
        assert_eq!(Some(&change), back.changes.last());
    }

    /// Plays to the end beyond a return, which only what is durable lets anybody confirm.
    async fn play_out(&mut self, from: Tick) {
        self.play(from.0 + 15).await;
        let through = self.archive(0, from.0).await;
        self.sessions
            .iter_mut()
            .for_each(|session| session.handle_lease(through));
        self.play(HORIZON).await;
        self.finish(through.0).await;
    }

    /// A page uploads from a tick on; gives what is then durable.
    async fn archive(&mut self, seat: usize, first: u32) -> Tick {
        let upload = self.upload(seat, first);
        self.pages[seat].say(&upload).await;
        let archived = |message| {
            if let ServerMessage::Archived { through, .. } = message {
                Some(through)
            } else {
                None
            }
        };
        self.pages[seat].until(archived).await
    }

    /// Both pages upload the rest, see the same end, answer, and reach the last page.
    async fn finish(&mut self, first: u32) {
        for seat in 0..2 {
            assert_eq!(self.archive(seat, first).await, Tick(HORIZON));
        }
        for (page, session) in self.pages.iter_mut().zip(&mut self.sessions) {
            let ended = page
                .until(|message| match message {
                    ServerMessage::Ended {
                        reason,
                        ticks,
                        digest,
                        ..
                    } => Some((reason, ticks, digest)),
                    _ => None,
                })
                .await;
            let own = session.digests().last().copied().unwrap();
            assert_eq!(
                (ended.1, ended.2),
                own,
                "the replica ends where the page ends"
            );
            assert_eq!(ended.0, EndReason::Played);
            assert!(matches!(page.stage().await, StageView::Survey { .. }));
            page.done(
                3,
                vec![Answer {
                    name: "fluency".into(),
                    value: "5".into(),
                }],
            )
            .await;
            let StageView::End { outcome, .. } = page.stage().await else {
                panic!("the last page")
            };
            assert_eq!(outcome, "completed");
        }
    }
}

async fn verified(data: &Path) -> signaling_server::verify::Verified {
    let report = signaling_server::verify::verify(data).await.unwrap();
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
    game.finish(0).await;
    let used = Page::connect(&server, Entry::Invite(server.links[0].clone()))
        .await
        .refusal()
        .await;
    assert_eq!(used, Refusal::Finished);
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
    let through = game.archive(0, 0).await;
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
    game.finish(through.0).await;
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
    // The same link in another window: the newer page goes on, the older one is told.
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
    let through = game.archive(0, 0).await;
    let entry = Entry::Resume {
        token: game.pages[1].token.clone(),
        playing: None,
    };
    game.pages[1] = Page::enter(&server, entry).await;
    game.fence().await;
    game.come_back().await;
    game.play_out(through).await;
    server.stop().await;
    let episode = verified(&host.data()).await;
    assert_eq!((episode.ticks, episode.reason), (HORIZON, Some("played")));
}

#[tokio::test]
async fn a_page_that_uploads_another_game_goes_on_from_the_servers_state() {
    let host = Host::new();
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(20).await;
    let through = game.archive(0, 0).await;
    let ClientMessage::Upload(mut upload) = game.upload(1, 0) else {
        panic!("an upload")
    };
    upload.rows[5] = (upload.rows[5] + 1) % 5;
    game.pages[1].say(&ClientMessage::Upload(upload)).await;
    game.fence().await;
    let change = game.change(1).await;
    assert_eq!((change.seat, change.life), (Seat(1), Life(1)), "it is told");
    let era = game.era;
    game.pages[1].say(&ClientMessage::TakeBack { era }).await;
    game.come_back().await;
    game.play_out(through).await;
    server.stop().await;
    assert_eq!(verified(&host.data()).await.reason, Some("played"));
}

#[tokio::test]
async fn a_data_folder_of_another_study_is_left_alone() {
    let host = Host::new();
    let server = host.start().await;
    Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    server.stop().await;
    let file = host.dir.path().join("study/study.yaml");
    let other = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, other.replace("id: overcooked-dyad", "id: another")).unwrap();
    let error = Server::start(host.options()).await.err().unwrap();
    let said = error.to_string();
    assert!(
        said.contains("`overcooked-dyad`") && said.contains("--data"),
        "{said}"
    );
}
