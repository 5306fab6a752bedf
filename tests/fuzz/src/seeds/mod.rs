//! The start of each corpus: one valid input for each kind of message, record and packet, and a few sequences.

mod hosts;
mod logs;
mod sequences;
mod texts;
mod turn;

use protocol::chain::{Chain, SigningKey};
use protocol::change::{Change, Presence};
use protocol::control::{
    Ability, Absent, Answer, Ask, AtTimeout, Block, ChatMember, ChatMessage, ChatView,
    ClientMessage, Device, Draft, EndReason, Entry, Farewell, IceServer, KeyEvent, Lack, Link,
    LobbyChoice, MessageRefusal, Misprediction, Onward, Plan, Refusal, Return, ServerMessage,
    StageView, Timing, Trial, Upload, Waiting, encode,
};
use protocol::datagram::{Datagram, DatagramLayout, Echo};
use protocol::log::{self, Ending, Header, Record};
use protocol::seen::{self, Frame};
use protocol::{Controller, Era, Life, Seat, Tick};
use serde::Serialize;

/// xorshift64: enough to scatter mutations.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit.max(1)
    }
}

/// The seeds of a target, by name.
pub fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    match target {
        "answers" => texts::answers(),
        "arbiter" => sequences::arbiters(),
        "control_client" => encoded(client_messages()),
        "control_server" => encoded(server_messages()),
        "datagram" => datagrams(),
        "form" => texts::forms(),
        "log" => logs::logs(),
        "peer" => sequences::peers(),
        "records" => logs::records(),
        "seen" => seen(),
        "session" => sequences::sessions(),
        "signal" => texts::signals(),
        "state" => texts::states(),
        "host" => hosts::answers(),
        "turn" => turn::turns(),
        _ => Vec::new(),
    }
}

/// Names a message by its variant.
fn encoded<M: Serialize + std::fmt::Debug>(messages: Vec<M>) -> Vec<(String, Vec<u8>)> {
    let name = |index: usize, message: &M| {
        let variant: String = format!("{message:?}")
            .chars()
            .take_while(char::is_ascii_alphabetic)
            .collect();
        format!("{index:02}-{}", variant.to_lowercase())
    };
    messages
        .iter()
        .enumerate()
        .map(|(index, message)| (name(index, message), encode(message)))
        .collect()
}

fn timing() -> Timing {
    Timing {
        keys: vec![KeyEvent {
            tick: Some(Tick(3)),
            action: 5,
            down: true,
            at_us: 310_000,
            shown_us: 0,
        }],
        rollbacks: vec![(Tick(4), 2)],
        holds: vec![(Tick(5), 130)],
        hidden: vec![(Tick(6), Tick(9))],
        rtt_us: vec![0, 42_000],
        delays: vec![(Tick(5), 130)],
        mispredictions: vec![Misprediction {
            seat: Seat(1),
            tick: Tick(3),
            predicted: 6,
            actual: 5,
            shown_ms: 40,
        }],
        seen: vec![1, 2, 3],
        refused: 1,
        equivocations: 0,
        screens: vec![(Tick(0), false), (Tick(2), true)],
        frames_us: vec![Some(-7), None],
        number: 4,
    }
}

/// Two inputs of a page, from tick 120 on.
fn block() -> Block {
    Chain::new("e-1", Seat(0), Life(1), Tick(120)).sign(&page_key(), vec![5, 6], [3; 16])
}

/// The key of a page.
pub(crate) fn page_key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn client_messages() -> Vec<ClientMessage> {
    let era = Era(7);
    let hello = |entry| ClientMessage::make_hello(entry);
    let answers = vec![Answer {
        name: "fun".into(),
        value: "5".into(),
    }];
    let upload = Upload {
        era,
        life: Life(1),
        block: Some(block()),
        changes: 1,
        recheck: 0,
        digests: vec![(Tick(120), 0x0123_4567_89ab_cdef)],
        timing: Some(timing()),
        ended: Some(Tick(122)),
    };
    vec![
        hello(Entry::Open),
        hello(Entry::Sent(vec![("PROLIFIC_PID".into(), "5f".into())])),
        hello(Entry::Invite("9f2c".into())),
        hello(Entry::Return("9f2c".into())),
        hello(Entry::Resume {
            token: "9f2c".into(),
            playing: Some((era, Life(1))),
        }),
        ClientMessage::Clock { sent_us: 1_234_567 },
        ClientMessage::StageDone {
            stage: 3,
            answers,
            pages_ms: vec![9_000],
        },
        ClientMessage::Draft {
            number: 2,
            stage: 3,
            draft: draft(),
        },
        ClientMessage::Signal {
            to: Seat(1),
            data: "{}".into(),
        },
        ClientMessage::Relay {
            to: Seat(1),
            bytes: vec![1, 2, 3],
        },
        ClientMessage::Ready {
            era,
            links: vec![Link::Direct, Link::Relay],
            rtt_us: vec![0, 40_000],
            loss_permille: vec![None, Some(20)],
        },
        ClientMessage::LinkChanged {
            era,
            seat: Seat(1),
            link: Link::Relay,
        },
        ClientMessage::Upload(upload),
        ClientMessage::Leave,
        ClientMessage::Trouble {
            message: "no WebGL".into(),
        },
        ClientMessage::Silent {
            era,
            seat: Seat(1),
            silent: true,
        },
        ClientMessage::Hidden { era, hidden: true },
        ClientMessage::Here,
        ClientMessage::Choose(LobbyChoice::Ai),
        ClientMessage::Unloading,
        ClientMessage::TakeBack { era },
        ClientMessage::WriteToGroup {
            group_visit: 1,
            number: 2,
            sent_us: 1_700_000_000_000_000,
            tick: Some(Tick(120)),
            text: "I take the onions \u{1f9c5}".into(),
        },
    ]
}

fn draft() -> Draft {
    Draft {
        page: 1,
        pages_ms: vec![4_000, 300],
        answers: vec![Answer {
            name: "plan".into(),
            value: "\"I coo\"".into(),
        }],
    }
}

fn controllers() -> Vec<Controller> {
    vec![
        Controller::Human,
        Controller::Ai {
            policy: "cook".into(),
        },
    ]
}

fn plan() -> Plan {
    Plan {
        era: Era(7),
        episode: "e-1".into(),
        seat: Seat(0),
        controllers: controllers(),
        env: "overcooked".into(),
        env_version: "1.0.0".into(),
        module: "ab".repeat(32),
        networks: vec!["cd".repeat(32)],
        params: "{\"horizon\":900}".into(),
        seed: 42,
        tick_hz: 10,
        window: 8,
        keys: vec![("KeyW".into(), 0)],
        disclose_ai: true,
        ice: vec![IceServer {
            urls: vec!["stun:127.0.0.1".into()],
            username: None,
            credential: Some("x".into()),
        }],
        touch: true,
        fullscreen: false,
        relay_only: false,
        measures_loss: false,
        life: Life(0),
        running: false,
        rules: Default::default(),
        round: (0, 1),
        countdown_s: None,
        hud: Vec::new(),
        chat: false,
        turn: None,
        way: protocol::EnvWay::Module,
        shared: None,
    }
}

fn lacks() -> Vec<Lack> {
    vec![
        Lack::Device(vec![Device::Desktop]),
        Lack::Ability(Ability::Webrtc),
        Lack::Window {
            width: 1_024,
            height: 640,
        },
        Lack::Rtt(150),
        Lack::Fps(30),
        Lack::Step(500),
        Lack::Other("Please turn your phone.".into()),
    ]
}

fn server_messages() -> Vec<ServerMessage> {
    let era = Era(7);
    let views = [
        StageView::Instructions {
            pages: vec!["<h1>Cook</h1>".into()],
            min_s: 5,
        },
        StageView::Lobby { timeout_s: 60 },
        StageView::Env,
        StageView::Regroup,
        StageView::Rest {
            page: "<p>Rest.</p>".into(),
            round: (1, 3),
            score: 20,
            min_ms: 0,
            max_ms: Some(60_000),
        },
        StageView::Survey {
            surveyjs: "{}".into(),
        },
        StageView::External {
            url: "https://forms.example.edu/?back={{return}}".into(),
            ticket: "9f2c".into(),
            code: true,
            must_return: true,
            can_give_up: false,
        },
        StageView::Screening {
            trials: vec![Trial {
                module: "0a".repeat(32),
                params: "{}".into(),
            }],
            lacks: lacks(),
            attempts: 2,
        },
        StageView::Debrief {
            page: "<p>Now you know</p>".into(),
            allow_withdraw: true,
        },
        StageView::Consent {
            page: "<p>Agree?</p>".into(),
            sha256: "0a".repeat(32),
        },
        StageView::Chat {
            page: "<p>Agree on a plan.</p>".into(),
        },
        StageView::Quiz {
            surveyjs: "{}".into(),
            attempt: 1,
            attempts: 2,
        },
        StageView::End {
            outcome: "completed".into(),
            page: "<p>Thanks</p>".into(),
            farewell: Farewell {
                code: "C1A2B3C4".into(),
                receipt: "R7K3Q2M9".into(),
                pay: "GBP 4.87".into(),
                withdrawal: "W-7K3Q9ZAB".into(),
                lacks: lacks(),
                onward: Onward::Form {
                    url: "https://www.mturk.com/mturk/externalSubmit".into(),
                    fields: vec![("assignmentId".into(), "3X".into())],
                },
            },
        },
    ];
    let stages = views
        .into_iter()
        .zip(0..)
        .map(|(view, index)| ServerMessage::Stage {
            index,
            count: 5,
            id: "s".into(),
            view,
            draft: (index == 3).then(draft),
            again: index == 4,
        });
    let mut messages = vec![
        ServerMessage::Welcome {
            session: "9f2c".into(),
            title: "Dyad".into(),
            language: "en".into(),
            languages: vec!["en".into(), "de".into()],
            contact: "lab@example.edu".into(),
            modules: vec!["ab".repeat(32)],
        },
        ServerMessage::DraftKept { number: 2 },
        ServerMessage::Refused { why: Refusal::Full },
        ServerMessage::Superseded,
        ServerMessage::Preview {
            title: "Dyad".into(),
        },
        ServerMessage::Clock {
            sent_us: 1,
            server_us: 1_700_000_000_000_000,
        },
        ServerMessage::Waiting(Waiting {
            here: 1,
            needed: 2,
            waited_ms: 4_000,
            left_ms: 30_000,
            usual_ms: Some(12_000),
            then: AtTimeout::Ask,
            paid: true,
            ask: Ask::Presence { left_ms: 15_000 },
        }),
        ServerMessage::Missing {
            absent: vec![Absent {
                seat: Seat(1),
                connected: true,
            }],
            of: 2,
            left_ms: 300_000,
        },
        ServerMessage::Match(plan()),
        ServerMessage::Start {
            era,
            t0_us: 1_700_000_000_000_000,
            input_delay: 1,
        },
        ServerMessage::Running {
            era,
            through: Tick(120),
            own: Tick(122),
            changes: vec![change()],
        },
        ServerMessage::Signal {
            from: Seat(1),
            data: "{}".into(),
        },
        ServerMessage::Relay {
            from: Seat(1),
            bytes: vec![1, 2, 3],
        },
        ServerMessage::Archived {
            era,
            through: Tick(120),
            own: Tick(122),
            agreed: Tick(110),
            notes: 5,
        },
        ServerMessage::Peer {
            era,
            seat: Seat(1),
            presence: Presence::Gone,
            left_ms: 9_000,
        },
        ServerMessage::Ended {
            era,
            reason: EndReason::Played,
            ticks: Tick(900),
            score: 60,
            digest: u64::MAX,
        },
    ];
    messages.extend([
        ServerMessage::Inputs {
            era,
            seat: Seat(1),
            life: Life(0),
            first: Tick(118),
            inputs: vec![6, 5, 5],
        },
        ServerMessage::Recheck {
            era,
            number: 1,
            agreed: Tick(110),
        },
        ServerMessage::Change {
            era,
            change: change(),
        },
        ServerMessage::Part {
            era,
            bytes: vec![1, 2, 3],
        },
        ServerMessage::Return(Return {
            era,
            t0_us: 1_700_000_000_000_000,
            delay_ms: 120,
            input_delay: 1,
            changes: vec![change()],
            tick: Tick(120),
            digest: 9,
            state: vec![1, 2, 3],
            partners: vec![(Seat(1), vec![4])],
        }),
    ]);
    messages.extend(chat_messages());
    messages.extend(stages);
    messages
}

fn chat_messages() -> Vec<ServerMessage> {
    let message = ChatMessage {
        place: Seat(1),
        number: 0,
        at_us: 1_700_000_000_000_000,
        text: "Hello".into(),
    };
    vec![
        ServerMessage::Chat(ChatView {
            group_visit: 1,
            place: Seat(0),
            members: vec![
                ChatMember::Here,
                ChatMember::Away,
                ChatMember::Left,
                ChatMember::Ai,
            ],
            names: vec!["Red".into()],
            max_length: 500,
            left_ms: Some((0, 60_000)),
            next: 2,
            messages: vec![message.clone()],
        }),
        ServerMessage::ChatMessage {
            group_visit: 1,
            message,
        },
        ServerMessage::ChatRefused {
            group_visit: 1,
            number: 2,
            why: MessageRefusal::TooFast,
        },
        ServerMessage::ChatMembers {
            group_visit: 1,
            members: vec![ChatMember::Here, ChatMember::Ai],
        },
    ]
}

fn change() -> Change {
    Change {
        number: 0,
        seat: Seat(0),
        tick: Tick(2),
        controller: Controller::Ai {
            policy: "cook".into(),
        },
        life: Life(1),
        from: Tick(2),
        inputs: vec![5, 6],
        key: None,
    }
}

fn datagrams() -> Vec<(String, Vec<u8>)> {
    let steady = Datagram {
        era: Era(7),
        from: Seat(1),
        first: Tick(100),
        inputs: vec![6, 6, 5],
        have: vec![Tick(101), Tick(103)],
        sent_ms: 1_000,
        echo: Some(Echo {
            sent_ms: 900,
            held_ms: 20,
        }),
        ..Datagram::default()
    };
    let far = Datagram {
        have: vec![Tick(9), Tick(103)],
        inputs: vec![0; 40],
        echo: None,
        ..steady.clone()
    };
    let late = Datagram {
        life: Life(3),
        delay_ms: 120,
        done: true,
        ..steady.clone()
    };
    let many = Datagram {
        have: vec![Tick(100); 16],
        from: Seat(15),
        inputs: Vec::new(),
        ..steady.clone()
    };
    let packet = |name: &str, [seats, actions]: [u8; 2], datagram: &Datagram| {
        let layout = DatagramLayout {
            seats: seats + 1,
            actions: u16::from(actions) + 1,
        };
        let mut out = Vec::new();
        datagram.encode(layout, &mut out);
        (name.to_owned(), [vec![seats, actions], out].concat())
    };
    vec![
        packet("steady", [1, 6], &steady),
        packet("far", [1, 6], &far),
        packet("late", [1, 6], &late),
        packet("sixteen", [15, 255], &many),
    ]
}

/// Chunks of a page that plays, that is out of sight and hears of a change, and of one with many seats.
fn seen() -> Vec<(String, Vec<u8>)> {
    let frame = |seats: usize, at: u32| Frame {
        at_ms: 1_000 + 17 * at,
        tick: Tick(60 + at),
        changes: (at / 30) as u16,
        have: vec![Tick(58 + at); seats],
        fresh: vec![vec![at as u16 / 8 % 7]; seats],
        ahead: (at % 3) as u8,
        wish: at as u16 / 4 % 7,
        hidden: at / 20 % 2 == 1,
    };
    let chunk = |name: &str, seats: usize, count: u32| {
        let frames: Vec<Frame> = (0..count).map(|at| frame(seats, at)).collect();
        let mut out = Vec::new();
        seen::encode(&frames, seats, &mut out);
        (name.to_owned(), [vec![seats as u8], out].concat())
    };
    vec![
        chunk("short", 2, 15),
        chunk("long", 2, 90),
        chunk("many", 16, 9),
    ]
}
