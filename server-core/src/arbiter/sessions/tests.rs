//! Sessions are found by their identifiers, and end or are forgotten in time.

use std::path::Path;

use study::UnitAssignment;

use super::*;
use crate::arbiter::Attendance;

const FIRST: ConnId = ConnId(1);
const SECOND: ConnId = ConnId(2);

/// One session without a page, which somebody was last at after a second.
fn one() -> (Sessions, SessionId) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
    let (mut study, _) = catalog::read_study(&dir).unwrap();
    study.keeping.expires_h = Some(2);
    let limits = Limits {
        entering: std::time::Duration::from_hours(24),
        ..Limits::default()
    };
    let mut sessions = Sessions::new(&study, &limits, vec![token_hash("link")], 0);
    let who = sessions.add_session(RestoredSession {
        number: 0,
        participant: "P-ONE".into(),
        token_hash: token_hash("token"),
        link_hash: Some(token_hash("link")),
        progress: study::Progress::new(&study, UnitAssignment::default()),
        attendance: Attendance {
            spent_us: 0,
            seen_us: 1_000_000,
            acted_us: 1_000_000,
        },
        payment: None,
        identity: None,
        is_erased: false,
    });
    (sessions, who)
}

#[test]
fn a_session_is_found_by_the_tokens_of_its_latest_pages_alone() {
    let (mut sessions, who) = one();
    assert_eq!(sessions.find_by_token("token"), Some(who));
    assert!(sessions.set_token(who, "next", Proof::Secret).is_some());
    let again = sessions.set_token(who, "next", Proof::Secret);
    assert_eq!(again, None, "it has it");
    assert_eq!(sessions.find_by_token("token"), Some(who));
    assert_eq!(sessions.find_by_token("next"), Some(who));
    assert_eq!(sessions.find_by_token("guess"), None);
    let latest: Vec<String> = (0..8).map(|number| format!("later {number}")).collect();
    for token in &latest {
        assert!(sessions.set_token(who, token, Proof::Identifier).is_some());
    }
    assert_eq!(sessions.find_by_token("token"), None, "long ago");
    assert_eq!(sessions.find_by_token("next"), Some(who));
    assert_eq!(sessions.by_token.len(), 9);
    assert_eq!(sessions.find_by_link("link"), Some(Some(who)));
    assert_eq!(sessions.find_by_link("other"), None);
}

#[test]
fn a_draft_stays_with_the_line_of_pages_that_wrote_it() {
    let (mut sessions, who) = one();
    let mut study = catalog::read_study(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad"),
    )
    .unwrap()
    .0;
    study.timeline.truncate(1);
    let draft = protocol::control::Draft::default();
    let event = study::ProgressEvent::Drafted {
        at: 0,
        draft: &draft,
    };
    sessions[who].progress.handle(&study, event).unwrap();
    sessions[who]
        .progress
        .set_draft_reader(&token_hash("token"));
    let mut reads = |token: &str, proof| {
        sessions.set_token(who, token, proof);
        let session = &sessions[who];
        session.progress.draft_for(&session.token_hash).is_some()
    };
    assert!(reads("by link", Proof::Secret));
    assert!(reads("token", Proof::Secret), "the first tab again");
    assert!(!reads("by name", Proof::Identifier));
    assert!(!reads("by name, away to a page and back", Proof::Secret));
    assert!(reads("by link", Proof::Secret));
    assert!(!reads("by name", Proof::Secret), "a reload there");
    assert!(reads("token", Proof::Secret));
}

#[test]
fn a_newer_page_takes_the_session_from_the_older_one() {
    let (mut sessions, who) = one();
    assert_eq!(sessions.attach_page(2_000_000, FIRST, who), None);
    assert_eq!(sessions.attach_page(3_000_000, SECOND, who), Some(FIRST));
    assert_eq!(sessions.find_by_conn(FIRST), None);
    assert_eq!(sessions.detach_page(4_000_000, FIRST), None);
    assert_eq!(sessions[who].conn, Some(SECOND));
    assert_eq!(sessions.detach_page(4_000_000, SECOND), Some(who));
    assert_eq!(sessions[who].conn, None);
}

#[test]
fn a_session_ends_some_hours_after_its_last_page() {
    let (mut sessions, who) = one();
    let end = |after_us: u64| Some((after_us + 2 * HOUR_US, "end of an absent session"));
    assert_eq!(sessions.poll_timeout(0), end(1_000_000));
    sessions.attach_page(2_000_000, FIRST, who);
    assert_eq!(
        sessions.poll_expired(2 * HOUR_US + 1_000_000),
        None,
        "it is there"
    );
    sessions.detach_page(9_000_000, FIRST);
    assert_eq!(sessions.poll_timeout(9_000_000), end(9_000_000));
    assert_eq!(sessions.poll_expired(2 * HOUR_US + 9_000_000), Some(who));
    assert_eq!(sessions.poll_expired(3 * HOUR_US), None);
}
