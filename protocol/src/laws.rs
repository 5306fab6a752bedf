//! Laws of the control messages and of the episode log, by property test; and that `PROTOCOL.md` is up to date.

pub(crate) mod strategies;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::change::Change;
use crate::control::{self, ClientMessage, EndReason, Link, MAX_MESSAGE, ServerMessage, Timing};
use crate::log::{self, Ending, Header, LogError, LogWriter, Record};
use crate::rules::Rules;
use crate::signal::{self, Signal};
use crate::{Controller, DecodeError, Life, MAX_SEATS, Seat, Tick, VERSION};

use strategies::{Part, episode, file, records};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn client_messages_come_back(message: ClientMessage) {
        prop_assert_eq!(control::decode(&control::encode(&message)), Ok(message));
    }

    #[test]
    fn server_messages_come_back(message: ServerMessage) {
        prop_assert_eq!(control::decode(&control::encode(&message)), Ok(message));
    }

    #[test]
    fn signals_come_back(signal: Signal) {
        prop_assert_eq!(signal::decode(&signal::encode(&signal)), Ok(signal));
    }

    #[test]
    fn a_message_cut_short_or_too_long_is_refused(message: ClientMessage, cut: prop::sample::Index) {
        let mut bytes = control::encode(&message);
        prop_assert!(control::decode::<ClientMessage>(&bytes[..cut.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(control::decode::<ClientMessage>(&bytes).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in vec(any::<u8>(), 0..600), seats in 1..=MAX_SEATS) {
        let _ = log::read_log(&bytes);
        bytes.insert(0, VERSION);
        let _ = control::decode::<ClientMessage>(&bytes);
        let _ = control::decode::<ServerMessage>(&bytes);
        let mut file = log::MAGIC.to_vec();
        file.extend(&bytes[1..]);
        prop_assert!(log::read_log(&file).is_err(), "{seats} seats from noise");
    }

    #[test]
    fn a_log_comes_back((header, records) in episode()) {
        let (bytes, _) = file(&header, &records);
        let log = log::read_log(&bytes).unwrap();
        let through = records.iter().filter_map(|record| match record {
            Record::Actions { rows, .. } => Some(rows.len()),
            _ => None,
        });
        prop_assert_eq!(through.sum::<usize>(), log.rows().len());
        prop_assert_eq!(log.rows().len(), log.through.0 as usize * log.count_seats());
        prop_assert_eq!(log.ending.is_some(), matches!(records.last(), Some(Record::End(_))));
        prop_assert_eq!(log.header, header);
        prop_assert_eq!(log.records, records);
        prop_assert_eq!((log.valid_len, log.torn), (bytes.len(), false));
    }

    #[test]
    fn a_log_cut_anywhere_is_read_up_to_its_last_whole_record(
        (header, records) in episode(),
        cut: prop::sample::Index,
        zeros in 0..40_usize,
    ) {
        let (mut bytes, ends) = file(&header, &records);
        let cut = cut.index(bytes.len() + 1);
        bytes.truncate(cut);
        bytes.extend(std::iter::repeat_n(0, zeros));
        let whole = ends.iter().filter(|end| **end <= cut).count();
        match log::read_log(&bytes) {
            // The part that was cut off may be zeros; a reader never reads less than the whole frames.
            Ok(log) => {
                prop_assert!(log.records.len() + 1 >= whole);
                prop_assert!(records.starts_with(&log.records));
                prop_assert!(ends.contains(&log.valid_len));
                prop_assert_eq!(log.torn, log.valid_len < bytes.len());
            }
            Err(LogError::NoHeader | LogError::Foreign) => prop_assert_eq!(whole, 0),
            Err(LogError::Version { found: 0 }) => prop_assert_eq!(cut, 0),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn damage_before_the_last_record_is_an_error_at_its_place(
        (header, records) in episode().prop_filter("two records", |(_, records)| records.len() > 1),
        at: prop::sample::Index,
        bit in 0..8_u8,
    ) {
        let (mut bytes, ends) = file(&header, &records);
        let last = ends[ends.len() - 2];
        let at = log::MAGIC.len() + at.index(last - log::MAGIC.len());
        bytes[at] ^= 1 << bit;
        let start = ends.iter().copied().rfind(|end| *end <= at).unwrap_or(log::MAGIC.len());
        match log::read_log(&bytes) {
            Err(LogError::Corrupt { offset, .. }) => prop_assert_eq!(offset, start),
            other => prop_assert!(false, "byte {}: {:?}", at, other),
        }
    }
}

#[test]
fn another_version_is_named() {
    let mut bytes = control::encode(&ClientMessage::Leave);
    bytes[0] = VERSION + 1;
    let refused = Err(DecodeError::Version { found: VERSION + 1 });
    assert_eq!(control::decode::<ClientMessage>(&bytes), refused);
    assert_eq!(
        log::read_log(&bytes),
        Err(LogError::Version { found: VERSION + 1 })
    );
}

#[test]
fn a_message_over_the_limit_is_refused_unread() {
    let bytes = control::encode(&ClientMessage::Trouble {
        message: "x".repeat(MAX_MESSAGE),
    });
    let refused = DecodeError::TooLong {
        len: bytes.len(),
        limit: MAX_MESSAGE,
    };
    assert_eq!(control::decode::<ClientMessage>(&bytes), Err(refused));
}

#[test]
fn a_length_beyond_the_message_allocates_no_more_than_the_message_holds() {
    // A relay of 2^32 - 1 bytes, announced by a message of nine.
    let bytes = [VERSION, 4, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0];
    assert_eq!(
        control::decode::<ClientMessage>(&bytes),
        Err(DecodeError::Malformed("control message"))
    );
}

#[test]
fn a_record_over_the_limit_is_refused_whole() {
    let mut out = vec![1, 2];
    let rows = vec![u16::MAX; log::MAX_RECORD];
    let (mut writer, _) = LogWriter::begin(&sample()).unwrap();
    let first = Tick(0);
    let refused = writer.append(&Record::Actions { first, rows }, &mut out);
    assert!(matches!(refused, Err(LogError::TooLong { .. })));
    assert_eq!(out, [1, 2]);
}

#[test]
fn a_log_of_before_has_zeros_for_the_fields_that_came_later() {
    let header = Header {
        participants: vec![String::new(); 2],
        controllers: vec![Controller::Human; 2],
        keys: Vec::new(),
        ..sample()
    };
    let timing = Timing {
        refused: 3,
        ..Timing::default()
    };
    let note = Record::Timing {
        seat: Seat(1),
        life: Life(0),
        timing,
    };
    let (bytes, ends) = file(&header, std::slice::from_ref(&note));
    // Each body without its last byte, which is that of a field that came later.
    let shorter = |frame: &[u8]| {
        assert_eq!(frame.last(), Some(&0));
        unnumbered(&frame[12..frame.len() - 1])
    };
    let (head, tail) = (&bytes[log::MAGIC.len()..ends[0]], &bytes[ends[0]..]);
    let before = [&magic_of_4()[..], &shorter(head), &shorter(tail)].concat();
    let read = log::read_log(&before).unwrap();
    assert_eq!((read.header, read.records), (header, vec![note]));
}

#[test]
fn records_out_of_order_are_refused_at_their_place() {
    let header = Header {
        participants: vec![String::new(); 2],
        controllers: vec![Controller::Human; 2],
        ..sample()
    };
    let ending = Ending {
        ticks: Tick(0),
        reason: EndReason::Technical,
        score: 0,
        digest: 0,
    };
    let two_rows = Record::Actions {
        first: Tick(0),
        rows: vec![0; 4],
    };
    for wrong in [
        vec![Record::Actions {
            first: Tick(1),
            rows: vec![0; 2],
        }],
        vec![Record::Actions {
            first: Tick(0),
            rows: vec![0; 3],
        }],
        vec![two_rows.clone(), two_rows.clone()],
        vec![two_rows, Record::End(ending)],
        vec![Record::Timing {
            seat: Seat(2),
            life: Life(0),
            timing: Timing::default(),
        }],
        vec![Record::Digest {
            tick: Tick(0),
            seat: Some(Seat(2)),
            digest: 0,
        }],
        vec![equivocation(2, 0)],
        vec![equivocation(0, 2)],
        vec![route(2, 0)],
        vec![route(0, 2)],
        vec![change(1, 0, 1)],
        vec![change(0, 2, 1)],
        vec![change(0, 0, 1), change(1, 0, 3)],
        vec![Record::End(ending), Record::End(ending)],
    ] {
        let (bytes, ends) = file(&header, &wrong);
        let offset = ends[ends.len() - 2];
        assert!(
            matches!(log::read_log(&bytes), Err(LogError::Corrupt { offset: found, .. }) if found == offset),
            "{wrong:?}"
        );
    }
}

fn equivocation(seat: u8, by: u8) -> Record {
    Record::Equivocation {
        seat: Seat(seat),
        tick: Tick(0),
        by: Seat(by),
        durable: 0,
        told: 1,
    }
}

fn route(seat: u8, other: u8) -> Record {
    Record::Route {
        seat: Seat(seat),
        other: Seat(other),
        at_us: 0,
        link: Link::Relay,
    }
}

fn change(number: u16, seat: u8, life: u8) -> Record {
    Record::Change(Change {
        number,
        seat: Seat(seat),
        tick: Tick(5),
        controller: Controller::Vacant,
        life: Life(life),
        from: Tick(0),
        inputs: Vec::new(),
        key: None,
    })
}

fn sample() -> Header {
    Header {
        episode: "e1".into(),
        study: "overcooked-dyad".into(),
        study_version: "1".into(),
        study_hash: "00".into(),
        stage: "play".into(),
        group: "g1".into(),
        participants: vec!["P-7K3Q".into()],
        module: "00".into(),
        env: "overcooked".into(),
        env_version: "1.0.0".into(),
        params: "{}".into(),
        seed: 1,
        controllers: vec![Controller::Human],
        tick_hz: 10,
        input_delay: 1,
        t0_us: 0,
        rules: Rules::default(),
        course: None,
        keys: vec![[7; 32]],
        way: crate::EnvWay::Module,
        shared: None,
    }
}

/// A frame of version 4, which has no number.
fn unnumbered(body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap().to_le_bytes();
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&len);
    hasher.update(body);
    [&len[..], &hasher.finalize().to_le_bytes(), body].concat()
}

/// The first bytes of a log of version 4.
fn magic_of_4() -> [u8; 8] {
    let mut magic = log::MAGIC;
    magic[0] = 4;
    magic
}

#[test]
fn the_header_of_an_earlier_program_is_read() {
    let header = Header {
        keys: Vec::new(),
        ..sample()
    };
    let (_, now) = LogWriter::begin(&header).unwrap();
    let later = (
        (&header.rules, &header.course, &header.keys),
        (&header.way, &header.shared),
    );
    let later = postcard::to_allocvec(&later).unwrap();
    let body = &now[log::MAGIC.len() + 12..now.len() - later.len()];
    let before = [&magic_of_4()[..], &unnumbered(body)].concat();
    assert!(before.len() < now.len());
    assert_eq!(log::read_log(&before).unwrap().header, header);
}

/// The definitions of the wire types in `source`, without comments, attributes and white space.
fn definitions(source: &str) -> String {
    let mut found = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if !["pub struct ", "pub enum ", "pub const "]
            .iter()
            .any(|start| line.starts_with(start))
        {
            continue;
        }
        let mut next = Some(line);
        while let Some(line) = next {
            let code = line.split("//").next().unwrap_or_default();
            if !code.trim_start().starts_with('#') {
                found.extend(code.split_whitespace());
            }
            if line == "}"
                || code.ends_with(';') && (line.starts_with("pub ") || line.starts_with(' '))
            {
                break;
            }
            next = lines.next();
        }
    }
    found
}

/// FNV-1a, 64 bits, over what defines the formats.
fn hash_of_the_wire_types() -> u64 {
    [
        include_str!("lib.rs"),
        include_str!("control.rs"),
        include_str!("control/client.rs"),
        include_str!("control/directives.rs"),
        include_str!("control/exchange.rs"),
        include_str!("control/plan.rs"),
        include_str!("control/server.rs"),
        include_str!("control/upload.rs"),
        include_str!("log.rs"),
        include_str!("rules.rs"),
        include_str!("datagram.rs"),
        include_str!("change.rs"),
        include_str!("seen.rs"),
        include_str!("signal.rs"),
    ]
    .iter()
    .flat_map(|source| definitions(source).into_bytes())
    .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn definitions_are_found_whole() {
    let source = "/// A.\npub struct A(pub u8);\nimpl A {\n    pub const X: u8 = 1;\n}\n#[derive(B)]\npub enum B {\n    \
                  /// c\n    #[x]\n    C { d: u8 }, // e\n}\npub const F: [u8; 2] =\n    [1, 2];\n";
    assert_eq!(
        definitions(source),
        "pubstructA(pubu8);pubenumB{C{d:u8},}pubconstF:[u8;2]=[1,2];"
    );
}

#[test]
fn protocol_md_describes_these_wire_types() {
    let carried = format!("Wire types: `{:016x}`", hash_of_the_wire_types());
    assert!(
        include_str!("../PROTOCOL.md")
            .lines()
            .any(|line| line == carried),
        "the wire types changed: describe the change in protocol/PROTOCOL.md, raise VERSION if programs of before \
         cannot read it, and set its line to\n{carried}"
    );
}

#[test]
fn a_record_that_is_missing_is_noticed_and_so_is_one_out_of_its_place() {
    let records = records(
        1,
        vec![
            Part::Actions(3),
            Part::Digest(Tick(2), Some(0), 9),
            Part::Actions(2),
        ],
        Some(4),
    );
    let (bytes, ends) = file(&sample(), &records);
    let frames: Vec<_> = ends.windows(2).map(|at| &bytes[at[0]..at[1]]).collect();
    let head = &bytes[..ends[0]];
    let missing = "a record whose number is not that of its place: others are missing";
    for (order, at) in [
        (vec![0, 2, 3], 1),
        (vec![1, 0, 2, 3], 0),
        (vec![0, 1, 1, 2], 2),
    ] {
        let kept = order.iter().map(|&at| frames[at]);
        let file = [&[head], &kept.collect::<Vec<_>>()[..]].concat().concat();
        let offset = head.len()
            + order[..at]
                .iter()
                .map(|&at| frames[at].len())
                .sum::<usize>();
        let what = missing;
        assert_eq!(
            log::read_log(&file),
            Err(LogError::Corrupt { offset, what })
        );
    }
}
