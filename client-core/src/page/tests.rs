use env_core::World;
use peer::Partners;
use protocol::change::Presence;
use protocol::control::{
    Answer, ChatMember, ChatMessage, ChatView, EndReason, Entry, Plan, StageView, encode,
};
use protocol::rules::Rules;
use protocol::{Controller, Era, Life, Tick};

use super::*;

mod episodes;

type Native = Box<dyn World + Send>;
type Tab = Page<Native>;

const S: u64 = 1_000_000;

/// A page that the shell has opened, and all its requests and news since.
struct Shell {
    page: Tab,
    now_us: u64,
    socket: Option<SocketId>,
    sent: Vec<ClientMessage>,
    other: Vec<PageEffect>,
    events: Vec<PageEvent<Native>>,
}

impl Shell {
    fn new(credentials: Credentials) -> Self {
        Self {
            page: Page::new(S, credentials, [7; 32]),
            now_us: S,
            socket: None,
            sent: Vec::new(),
            other: Vec::new(),
            events: Vec::new(),
        }
    }

    /// A page that the server has let in.
    fn welcomed() -> Self {
        let mut shell = Self::new(Credentials::default());
        shell.connect();
        shell
    }

    fn does<T>(&mut self, action: impl FnOnce(&mut Tab, u64) -> T) -> T {
        let given = action(&mut self.page, self.now_us);
        while let Some(effect) = self.page.poll_effect() {
            match effect {
                PageEffect::OpenSocket(socket) => self.socket = Some(socket),
                PageEffect::CloseSocket => self.socket = None,
                // Questions for the time come and go.
                PageEffect::Send(ClientMessage::Clock { .. }) => {}
                PageEffect::Send(message) => self.sent.push(message),
                other => self.other.push(other),
            }
        }
        while let Some(event) = self.page.poll_event() {
            self.events.push(event);
        }
        given
    }

    fn passes(&mut self, us: u64) {
        let until_us = self.now_us + us;
        while let Some((due_us, _)) = self.page.poll_timeout(self.now_us)
            && due_us <= until_us
        {
            self.now_us = self.now_us.max(due_us);
            self.does(Page::handle_timeout);
            self.now_us += 1;
        }
        self.now_us = self.now_us.max(until_us);
    }

    fn hears(&mut self, message: ServerMessage) {
        let socket = self.socket.unwrap();
        self.does(|page, now_us| page.handle_socket_message(now_us, socket, message));
    }

    fn opens(&mut self) {
        while self.socket.is_none() {
            let (due_us, _) = self.page.poll_timeout(self.now_us).unwrap();
            self.now_us = self.now_us.max(due_us);
            self.does(Page::handle_timeout);
        }
        let socket = self.socket.unwrap();
        self.does(|page, now_us| page.handle_socket_opened(now_us, socket));
    }

    fn connect(&mut self) {
        self.opens();
        self.hears(ServerMessage::Welcome {
            session: "token".to_owned(),
            title: "Study".to_owned(),
            language: "en".to_owned(),
            languages: Vec::new(),
            contact: "lab@example.edu".to_owned(),
            modules: Vec::new(),
        });
    }

    fn loses(&mut self) {
        let socket = self.socket.unwrap();
        self.does(|page, now_us| page.handle_socket_closed(now_us, socket));
    }

    fn takes_sent(&mut self) -> Vec<ClientMessage> {
        std::mem::take(&mut self.sent)
    }

    fn has_event(&mut self, is_it: impl Fn(&PageEvent<Native>) -> bool) -> bool {
        std::mem::take(&mut self.events).iter().any(is_it)
    }

    fn shows(&self) -> u16 {
        self.page.stage().unwrap().index
    }
}

fn stage(index: u16, view: StageView, draft: Option<Draft>) -> ServerMessage {
    ServerMessage::Stage {
        index,
        count: 9,
        id: format!("stage {index}"),
        view,
        draft,
        again: false,
    }
}

fn survey(index: u16) -> ServerMessage {
    let surveyjs = "{}".to_owned();
    stage(index, StageView::Survey { surveyjs }, None)
}

fn draft(text: &str) -> Draft {
    Draft {
        answers: vec![Answer {
            name: "item".to_owned(),
            value: text.to_owned(),
        }],
        ..Draft::default()
    }
}

fn plan(era: u16, running: bool) -> Plan {
    Plan {
        era: Era(era),
        episode: format!("E-{era}"),
        seat: Seat(0),
        controllers: vec![Controller::Human; 2],
        env: "goal_seeking".to_owned(),
        env_version: String::new(),
        module: String::new(),
        networks: Vec::new(),
        params: "{}".to_owned(),
        seed: 1,
        tick_hz: 10,
        window: 8,
        keys: Vec::new(),
        touch: false,
        fullscreen: false,
        disclose_ai: true,
        ice: Vec::new(),
        measures_loss: false,
        relay_only: false,
        life: Life(0),
        running,
        rules: Rules::default(),
        round: (0, 1),
        countdown_s: None,
        hud: Vec::new(),
        chat: true,
        turn: None,
        way: protocol::EnvWay::Module,
        shared: None,
    }
}

fn ended(era: u16) -> ServerMessage {
    ServerMessage::Ended {
        era: Era(era),
        reason: EndReason::Technical,
        ticks: Tick(0),
        score: 3,
        digest: 0,
    }
}

fn chat_view(next: u32) -> ServerMessage {
    ServerMessage::Chat(ChatView {
        group_visit: 3,
        place: Seat(0),
        members: vec![ChatMember::Here, ChatMember::Here],
        names: Vec::new(),
        max_length: 100,
        left_ms: None,
        next,
        messages: Vec::new(),
    })
}

fn entry(sent: &[ClientMessage]) -> Entry {
    match sent {
        [ClientMessage::Hello { entry, .. }] => entry.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_page_says_who_comes_and_comes_back_with_the_session_that_it_was_given() {
    let mut shell = Shell::new(Credentials::default());
    shell.opens();
    assert_eq!(entry(&shell.takes_sent()), Entry::Open);
    shell.connect();
    let remembered = PageEffect::RememberSession(Some("token".to_owned()));
    assert_eq!(shell.other, [remembered]);
    shell.takes_sent();
    shell.loses();
    assert!(shell.has_event(|event| matches!(event, PageEvent::ConnectionLost { failures: 1 })));
    shell.opens();
    let (token, playing) = ("token".to_owned(), None);
    assert_eq!(entry(&shell.takes_sent()), Entry::Resume { token, playing });
}

#[test]
fn a_session_that_the_server_does_not_know_gives_way_to_the_link() {
    let mut shell = Shell::new(Credentials {
        session: Some("old".to_owned()),
        link: Some("link".to_owned()),
        ..Credentials::default()
    });
    shell.opens();
    shell.takes_sent();
    let why = Refusal::UnknownLink;
    shell.hears(ServerMessage::Refused { why });
    assert_eq!(shell.other, [PageEffect::RememberSession(None)]);
    shell.opens();
    let invited = Entry::Invite("link".to_owned());
    assert_eq!(entry(&shell.takes_sent()), invited);
    shell.hears(ServerMessage::Refused { why });
    let stopped = StopReason::Refused(why);
    let is_stopped =
        |event: &PageEvent<Native>| matches!(event, PageEvent::Stopped(why) if *why == stopped);
    assert!(shell.has_event(is_stopped));
    assert_eq!(shell.page.poll_timeout(shell.now_us), None);
}

#[test]
fn a_server_that_stops_is_waited_for() {
    let mut shell = Shell::welcomed();
    let why = Refusal::Stopping;
    shell.hears(ServerMessage::Refused { why });
    assert!(shell.has_event(|event| matches!(event, PageEvent::ServerStopping)));
    shell.loses();
    shell.connect();
    assert!(shell.page.is_welcomed());
}

#[test]
fn a_superseded_page_stops_unless_it_has_nothing_more_to_lose() {
    let mut shell = Shell::welcomed();
    shell.hears(survey(1));
    shell.hears(ServerMessage::Superseded);
    let superseded = StopReason::Superseded;
    assert!(
        shell.has_event(|event| matches!(event, PageEvent::Stopped(why) if *why == superseded))
    );
    assert_eq!(shell.socket, None);
    let mut shell = Shell::welcomed();
    let view = StageView::End {
        outcome: "completed".to_owned(),
        page: String::new(),
        farewell: protocol::control::Farewell::default(),
    };
    shell.hears(stage(2, view, None));
    shell.hears(ServerMessage::Superseded);
    assert!(!shell.has_event(|event| matches!(event, PageEvent::Stopped(_))));
    assert!(shell.page.is_stopped());
}

#[test]
fn a_page_that_is_offered_elsewhere_connects_again_when_the_person_stays() {
    let mut shell = Shell::welcomed();
    shell.does(|page, _| page.disconnect());
    assert_eq!(shell.socket, None);
    shell.passes(20 * S);
    assert_eq!(shell.socket, None);
    shell.does(Page::connect_again);
    shell.connect();
    assert!(shell.page.is_welcomed());
}

#[test]
fn news_of_an_earlier_connection_are_void() {
    let mut shell = Shell::welcomed();
    let old = shell.socket.unwrap();
    shell.loses();
    shell.connect();
    shell.hears(survey(1));
    shell.does(|page, now_us| page.handle_socket_closed(now_us, old));
    assert!(shell.page.is_welcomed());
    let message = encode(&survey(2));
    shell.does(|page, now_us| page.handle_socket_bytes(now_us, old, &message));
    assert_eq!(shell.shows(), 1);
}

#[test]
fn bytes_that_are_no_message_are_reported_and_another_version_stops_the_page() {
    let mut shell = Shell::welcomed();
    shell.takes_sent();
    let socket = shell.socket.unwrap();
    let garbled = [protocol::VERSION, 0xff, 0xff, 0xff];
    shell.does(|page, now_us| page.handle_socket_bytes(now_us, socket, &garbled));
    let sent = shell.takes_sent();
    assert!(matches!(sent[..], [ClientMessage::Trouble { .. }]));
    assert!(shell.has_event(|event| matches!(event, PageEvent::Garbled(_))));
    let newer = [protocol::VERSION + 1, 0];
    shell.does(|page, now_us| page.handle_socket_bytes(now_us, socket, &newer));
    let old = StopReason::Refused(Refusal::OldPage);
    assert!(shell.has_event(|event| matches!(event, PageEvent::Stopped(why) if *why == old)));
}

#[test]
fn what_was_typed_survives_a_lost_connection_and_is_sent_again() {
    let mut shell = Shell::welcomed();
    shell.hears(survey(1));
    shell.takes_sent();
    shell.does(|page, now_us| page.handle_draft(now_us, draft("half")));
    shell.passes(S);
    let is_draft = |message: &ClientMessage| matches!(message, ClientMessage::Draft { stage: 1, draft: kept, .. } if *kept == draft("half"));
    assert!(matches!(&shell.takes_sent()[..], [one] if is_draft(one)));
    shell.loses();
    shell.connect();
    shell.hears(survey(1));
    assert!(!shell.page.is_stored());
    assert!(
        shell.takes_sent().iter().any(is_draft),
        "the server may not have it"
    );
    shell.hears(ServerMessage::DraftKept { number: 1 });
    assert!(shell.page.is_stored());
    let is_shown = |event: &PageEvent<Native>| matches!(event, PageEvent::StageShown { .. });
    let shown = shell.events.iter().filter(|event| is_shown(event)).count();
    assert_eq!(shown, 1, "the field is not made anew");
}

#[test]
fn a_person_who_is_done_while_the_server_is_away_is_done_when_it_is_back() {
    let mut shell = Shell::welcomed();
    shell.hears(survey(1));
    shell.loses();
    shell.does(|page, now_us| page.handle_done(now_us, draft("all").answers, Vec::new()));
    shell.takes_sent();
    shell.connect();
    shell.takes_sent();
    shell.hears(survey(1));
    let sent = shell.takes_sent();
    assert!(
        matches!(&sent[..], [ClientMessage::StageDone { stage: 1, answers, .. }] if *answers == draft("all").answers)
    );
    shell.hears(survey(1));
    assert!(shell.has_event(|event| matches!(event, PageEvent::NotTaken)));
    shell.does(|page, now_us| page.handle_done(now_us, draft("better").answers, vec![5]));
    assert_eq!(shell.takes_sent().len(), 1);
    shell.hears(survey(2));
    assert_eq!(shell.shows(), 2);
    assert!(!shell.page.is_done());
}

#[test]
fn an_earlier_page_hands_its_draft_on() {
    let mut shell = Shell::welcomed();
    let surveyjs = "{}".to_owned();
    let half = Some(draft("half"));
    shell.hears(stage(1, StageView::Survey { surveyjs }, half.clone()));
    let is_it = |event: &PageEvent<Native>| matches!(event, PageEvent::StageShown { draft, .. } if *draft == half);
    assert!(shell.has_event(is_it));
}

#[test]
fn a_page_out_of_sight_or_about_to_go_sends_what_is_typed_at_once() {
    let mut shell = Shell::welcomed();
    shell.hears(survey(1));
    shell.takes_sent();
    shell.does(|page, now_us| {
        page.handle_draft(now_us, draft("a"));
        page.handle_hidden(now_us, true);
    });
    assert!(matches!(
        shell.takes_sent()[..],
        [ClientMessage::Draft { .. }]
    ));
    shell.does(|page, now_us| {
        page.handle_draft(now_us, draft("b"));
        page.handle_leaving(now_us);
    });
    assert!(matches!(
        shell.takes_sent()[..],
        [ClientMessage::Draft { .. }, ClientMessage::Unloading]
    ));
}

#[test]
fn who_leaves_without_a_connection_leaves_when_it_is_back() {
    let mut shell = Shell::welcomed();
    shell.hears(survey(1));
    shell.loses();
    shell.does(Page::handle_leave);
    shell.takes_sent();
    shell.connect();
    assert!(shell.takes_sent().contains(&ClientMessage::Leave));
    let view = StageView::End {
        outcome: "withdrawn".to_owned(),
        page: String::new(),
        farewell: protocol::control::Farewell::default(),
    };
    shell.hears(stage(2, view, None));
    shell.loses();
    shell.connect();
    assert!(!shell.takes_sent().contains(&ClientMessage::Leave));
}

#[test]
fn who_waits_in_a_lobby_tells_now_and_then_that_they_are_there_unless_they_are_asked() {
    let mut shell = Shell::welcomed();
    shell.hears(stage(1, StageView::Lobby { timeout_s: 60 }, None));
    shell.takes_sent();
    for (seconds, signs) in [(1, 0), (5, 1), (1, 0), (4, 1)] {
        shell.passes(seconds * S);
        shell.does(Page::handle_alive);
        assert_eq!(shell.takes_sent().len(), signs);
    }
    shell.hears(ServerMessage::Waiting(Waiting {
        here: 1,
        needed: 2,
        waited_ms: 0,
        left_ms: 0,
        usual_ms: None,
        then: protocol::control::AtTimeout::Wait,
        paid: false,
        ask: Ask::Return,
    }));
    shell.passes(9 * S);
    shell.does(Page::handle_alive);
    assert!(shell.takes_sent().is_empty());
}

#[test]
fn a_button_is_pressed_once_until_the_server_answers_or_the_connection_is_lost() {
    let mut shell = Shell::welcomed();
    let shown = |era: u16, refused| {
        ServerMessage::Buttons(protocol::control::ShownButtons {
            era: Era(era),
            seat: Seat(1),
            name: "Help".to_owned(),
            labels: vec!["A plate".to_owned(), "Wait".to_owned()],
            followed: Some(1),
            refused,
        })
    };
    let press = |shell: &mut Shell, button| {
        shell.takes_sent();
        let is_taken = shell.does(|page, _| page.handle_button(Seat(1), button));
        let sent = shell.takes_sent();
        let is_press = |message: &ClientMessage| matches!(message, ClientMessage::Direct { era: Era(4), seat: Seat(1), button: of, .. } if *of == button);
        assert_eq!(is_taken, sent.iter().any(is_press), "{sent:?}");
        is_taken
    };
    assert!(!press(&mut shell, 0), "there is no button");
    // They may come before the episode that they belong to.
    shell.hears(shown(4, None));
    assert_eq!(shell.page.buttons().count(), 0);
    shell.hears(ServerMessage::Match(plan(4, false)));
    assert_eq!(shell.page.buttons().count(), 1);
    assert!(press(&mut shell, 0));
    assert_eq!(shell.page.pressed_button(), Some((Seat(1), 0)));
    assert!(!press(&mut shell, 1), "the first press is under way");
    shell.hears(shown(4, Some(0)));
    assert!(shell.has_event(|event| matches!(event, PageEvent::ButtonsChanged)));
    assert!(press(&mut shell, 1));
    shell.loses();
    assert_eq!(
        shell.page.pressed_button(),
        None,
        "nobody knows whether it came"
    );
    assert!(!press(&mut shell, 1), "nobody hears it");
    shell.connect();
    assert!(!press(&mut shell, 2), "there are two");
    assert!(press(&mut shell, 1));
    shell.hears(ServerMessage::Match(plan(5, false)));
    assert_eq!(shell.page.buttons().count(), 0, "another episode has none");
}
