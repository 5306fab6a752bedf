//! Files that cannot be written or taken up, and environments that break down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// The conduct of a disk.
enum Conduct {
    /// It is full.
    Full,
    /// It counts what is to become durable.
    Counts(Arc<AtomicUsize>),
    /// It takes everything, and loses it.
    Forgets,
}

/// A file on a disk with such a conduct.
struct Conducted(Box<dyn LogFile>, Conduct);

impl LogFile for Conducted {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes)?;
        self.sync()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &self.1 {
            Conduct::Full => Err(io::ErrorKind::StorageFull.into()),
            Conduct::Counts(_) => self.0.write(bytes),
            Conduct::Forgets => Ok(()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        match &self.1 {
            Conduct::Full | Conduct::Forgets => Err(io::Error::other("the disk is gone")),
            Conduct::Counts(syncs) => {
                syncs.fetch_add(1, Ordering::Relaxed);
                self.0.sync()
            }
        }
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.0.read()
    }

    fn truncate(&mut self, len: usize) -> io::Result<()> {
        self.0.truncate(len)
    }
}

#[test]
fn a_failed_write_is_not_acknowledged_and_the_file_tells_what_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 5));
    episode.file = Box::new(Conducted(episode.file, Conduct::Full));
    for (from, to) in [(5, 9), (0, 5)] {
        let upload = pages[0].upload_part(&all, from, to);
        let refused = episode.append_upload(ZERO, &upload);
        assert!(matches!(refused, Err(Refused::Disk(_))));
    }
    assert!(matches!(
        episode.end(EndReason::Technical),
        Err(Refused::Disk(_))
    ));
    assert!(matches!(
        episode.take_seat(ONE, Controller::Vacant),
        Err(Refused::Disk(_))
    ));
    drop(episode);
    let mut episode = Episode::recover(&dir.path().join("e-1.coplay")).unwrap();
    assert_eq!(episode.recorded_through(), Tick(5));
    assert_eq!(both(&mut episode, &mut pages, &all, (5, 9)), fine(9, 9));
}

#[test]
fn uploads_that_came_together_are_one_write_with_the_same_bytes() {
    let header = header([PERSON, PERSON], 20);
    let (all, writes) = (play_episode(&header), Arc::default());
    let file_of = |is_held: bool| {
        let dir = tempfile::tempdir().unwrap();
        let mut pages = pages(&header);
        let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
        episode.file = Box::new(Conducted(
            episode.file,
            Conduct::Counts(Arc::clone(&writes)),
        ));
        for (from, to) in [(0, 5), (5, 9), (9, 20)] {
            if is_held {
                episode.hold_writes();
            }
            both(&mut episode, &mut pages, &all, (from, to));
            episode.write_held().unwrap();
            episode.sync().unwrap();
        }
        episode.end(EndReason::Played).unwrap();
        episode.file.read().unwrap()
    };
    let written = |is_held| {
        let bytes = file_of(is_held);
        (bytes, writes.swap(0, Ordering::Relaxed))
    };
    let (apart, together) = (written(false), written(true));
    assert_eq!(apart.0, together.0);
    assert_eq!((apart.1, together.1), (7, 4), "six uploads and the end");
}

#[test]
fn held_writes_that_fail_leave_the_file_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 5));
    episode.hold_writes();
    both(&mut episode, &mut pages, &all, (5, 9));
    episode.file = Box::new(Conducted(episode.file, Conduct::Full));
    assert!(episode.write_held().is_err());
    let late = episode.append_upload(ZERO, &pages[0].upload_part(&all, 9, 12));
    assert!(matches!(late, Err(Refused::Disk(_))));
    drop(episode);
    let path = dir.path().join("e-1.coplay");
    assert_eq!(Episode::recover(&path).unwrap().recorded_through(), Tick(5));
}

#[test]
fn what_a_killed_program_wrote_is_durable_before_it_is_called_so() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 5));
    drop(episode);
    let (file, syncs) = (
        DiskFile::open(&dir.path().join("e-1.coplay")),
        Arc::default(),
    );
    let file = Conducted(Box::new(file.unwrap()), Conduct::Counts(Arc::clone(&syncs)));
    let episode = Episode::recover_from(Box::new(file), open_stored(dir.path())).unwrap();
    assert_eq!(
        (episode.recorded_through(), syncs.load(Ordering::Relaxed)),
        (Tick(5), 1)
    );
}

#[test]
fn an_episode_whose_writes_did_not_become_durable_accepts_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let (all, mut pages) = (play_episode(&header), pages(&header));
    let mut episode = Episode::create(dir.path(), header).unwrap();
    both(&mut episode, &mut pages, &all, (0, 5));
    episode.file = Box::new(Conducted(episode.file, Conduct::Forgets));
    episode.hold_writes();
    both(&mut episode, &mut pages, &all, (5, 9));
    episode.write_held().unwrap();
    assert!(episode.sync().is_err());
    assert!(
        episode.sync().is_err(),
        "also if the disk says it only once"
    );
    let late = episode.append_upload(ZERO, &pages[0].upload_part(&all, 9, 12));
    assert!(matches!(late, Err(Refused::Disk(_))));
    drop(episode);
    let path = dir.path().join("e-1.coplay");
    assert_eq!(Episode::recover(&path).unwrap().recorded_through(), Tick(5));
}

#[test]
fn an_episode_has_one_file_of_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let episodes = dir.path().join(FOLDER);
    fs::create_dir(&episodes).unwrap();
    let episode = Episode::create(&episodes, header.clone()).unwrap();
    assert!(matches!(
        Episode::create(&episodes, header.clone()),
        Err(OpenError::Io(_))
    ));
    drop(episode);
    assert_eq!(
        list_logs(dir.path()).unwrap(),
        [path(&episodes, "e-1").unwrap()]
    );
    for name in ["", "../e", "a/b", "a.b", &"e".repeat(65)] {
        let header = Header {
            episode: name.into(),
            ..header.clone()
        };
        assert!(
            matches!(Episode::create(dir.path(), header), Err(OpenError::Name(_))),
            "{name}"
        );
    }
}

#[test]
fn what_this_program_cannot_simulate_is_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let good = header([PERSON, ai_controller("idle")], 20);
    let error = |header: Header| match Episode::create(dir.path(), header) {
        Err(OpenError::Replay(ReplayError::Replica(error))) => error,
        _ => panic!("not refused"),
    };
    let version = error(Header {
        env_version: "0.9.0".into(),
        ..good.clone()
    });
    assert_eq!(
        version.to_string(),
        "recorded with overcooked 0.9.0; this program has 2.0.0; its stored module cannot be played: this is no SHA-256"
    );
    let policy = error(Header {
        controllers: vec![PERSON, ai_controller("nobody")],
        ..good.clone()
    });
    assert_eq!(
        policy.to_string(),
        "there is no policy `nobody` for overcooked"
    );
    let seats = error(Header {
        controllers: vec![PERSON],
        participants: vec![String::new()],
        ..good.clone()
    });
    assert!(matches!(
        seats,
        ReplicaError::Seats {
            recorded: 1,
            here: 2
        }
    ));
    let environment = error(Header {
        env: "chess".into(),
        ..good
    });
    assert!(matches!(environment, ReplicaError::Module { .. }));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_module_that_breaks_down_in_its_first_state_is_not_started() {
    let facts = r#"{"spec":{"id":"counter","version":"1.0.0","title":"Counter","seats":1,
"actions":[{"name":"wait","momentary":false,"keys":[]},{"name":"count","momentary":true,"keys":["Space"]}],"noop":0,
"observation":[{"name":"sum","shape":[1]}],"tick_hz":10,"horizon":20,"events":[]},"params_schema":{},"sprites":[]}"#;
    let escaped: String = facts.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let text = include_str!("../../../module/tests/hosted/counter.wat")
        .replace("FACTS", &escaped)
        .replace("LENGTH", &facts.len().to_string());
    let open = |text: &str, controller: Controller| {
        let bytes = wat::parse_str(text).unwrap();
        let header = Header {
            module: protocol::hash::sha256_hex(&bytes),
            env: "counter".into(),
            env_version: "1.0.0".into(),
            params: String::new(),
            participants: vec!["P-A".into()],
            controllers: vec![controller],
            ..header([PERSON, PERSON], 20)
        };
        let opened = Replica::open(&header, move |_| Ok(bytes.clone()));
        opened.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(open(&text, PERSON), Ok(()));
    assert_eq!(open(&text, ai_controller("idle")), Ok(()));
    let reset = "(export \"coplay_reset\") (param $seed i64)";
    let traps = text.replace(reset, &format!("{reset} unreachable"));
    let refused = open(&traps, PERSON).unwrap_err();
    assert!(
        refused.contains("of `counter`: `coplay_reset` gave up"),
        "{refused}"
    );
    let observe = "(export \"coplay_observe\") (param $seat i32) (result i32)";
    let traps = text.replace(observe, &format!("{observe} unreachable"));
    let refused = open(&traps, ai_controller("idle")).unwrap_err();
    assert!(
        refused.contains("of `counter`: `coplay_observe` gave up"),
        "{refused}"
    );
}

#[test]
fn a_log_that_comes_out_differently_is_not_taken_up() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let all = play_episode(&header);
    let write = |records: &[Record]| {
        let (mut writer, mut bytes) = LogWriter::begin(&header).unwrap();
        records
            .iter()
            .for_each(|record| writer.append(record, &mut bytes).unwrap());
        let path = dir.path().join("e-1.coplay");
        fs::write(&path, bytes).unwrap();
        match Episode::recover(&path) {
            Err(OpenError::Replay(error)) => error,
            _ => panic!("not refused"),
        }
    };
    let rows = Record::Actions {
        first: Tick(0),
        rows: all.rows[..16].to_vec(),
    };
    let digest = Record::Digest {
        tick: Tick(4),
        seat: None,
        digest: 1,
    };
    assert!(matches!(
        write(&[rows.clone(), digest]),
        ReplayError::Digest {
            tick: Tick(4),
            recorded: 1,
            ..
        }
    ));
    let end = Ending {
        ticks: Tick(8),
        reason: EndReason::Technical,
        score: 99,
        digest: 0,
    };
    assert!(matches!(
        write(&[rows.clone(), Record::End(end)]),
        ReplayError::End { .. }
    ));
    let mut replica = Replica::open(&header, no_modules).unwrap();
    all.rows[..16]
        .chunks(2)
        .for_each(|row| replica.step(row).unwrap());
    let claimed = Ending {
        reason: EndReason::Played,
        ..replica.read_ending(EndReason::Technical)
    };
    assert!(matches!(
        write(&[rows, Record::End(claimed)]),
        ReplayError::End { .. }
    ));
    let wild = Record::Actions {
        first: Tick(0),
        rows: vec![0, 999],
    };
    assert!(matches!(
        write(&[wild]),
        ReplayError::Row {
            tick: Tick(0),
            error: RowError::Malformed
        }
    ));
}

/// A module with one seat that gives up in its fourth step.
fn tired_module() -> Vec<u8> {
    let facts = r#"{"spec":{"id":"tired","version":"1.0.0","title":"Tired","seats":1,
        "actions":[{"name":"wait","momentary":false,"keys":[]}],"noop":0,"observation":[{"name":"sum","shape":[1]}],
        "tick_hz":4,"horizon":20,"events":[]},"params_schema":{},"sprites":[]}"#;
    let bytes: String = facts.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let counter = include_str!("../../../module/tests/hosted/counter.wat");
    let step = "(local $action i32) (local $over i32)";
    let tired =
        format!("{step} (if (i32.eq (i32.load (i32.const 16)) (i32.const 3)) (then unreachable))");
    let text = counter.replace("FACTS", &bytes).replace(step, &tired);
    wat::parse_str(text.replace("LENGTH", &facts.len().to_string())).unwrap()
}

#[test]
fn an_environment_that_breaks_down_stops_the_episode_and_keeps_what_was_played() {
    let data = tempfile::tempdir().unwrap();
    let (bytes, episodes) = (tired_module(), data.path().join("episodes"));
    let hash = protocol::hash::sha256_hex(&bytes);
    for folder in ["episodes", "modules"] {
        fs::create_dir(data.path().join(folder)).unwrap();
    }
    fs::write(data.path().join(format!("modules/{hash}.wasm")), &bytes).unwrap();
    let mut header = header([PERSON, PERSON], 20);
    (header.env, header.module, header.params) = ("tired".into(), hash, "{}".into());
    header.env_version = "1.0.0".into();
    header.controllers.truncate(1);
    header.participants.truncate(1);
    let mut page = PageScript::new(&header, ZERO);
    let mut episode = Episode::create(&episodes, header).unwrap();
    let upload = Upload {
        era: Era(1),
        life: Life(0),
        block: page.sign_block(0, vec![0; 6]),
        changes: 0,
        recheck: 0,
        digests: Vec::new(),
        timing: None,
        ended: None,
    };
    let expected = AppendedUpload {
        stopped: true,
        ..fine(3, 6)
    };
    assert_eq!(episode.append_upload(ZERO, &upload).unwrap(), expected);
    let ending = episode.end(EndReason::Technical).unwrap();
    assert_eq!(
        (ending.ticks, ending.reason),
        (Tick(3), EndReason::Technical)
    );
    assert_eq!(log_of(&mut episode).rows(), [0, 0, 0]);
    let log = log_of(&mut episode);
    assert!(replay(&log, open_stored(&episodes), |_, _| ()).is_ok());
}

#[test]
fn however_many_ticks_become_final_at_once_their_records_can_be_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 20);
    let episode = Episode::create(dir.path(), header.clone()).unwrap();
    let (mut writer, mut bytes) = LogWriter::begin(&header).unwrap();
    let rows: Vec<u16> = (0..600_000_u32).map(|at| (at % 6) as u16).collect();
    for record in episode.record_actions(Tick(0), rows.clone()) {
        writer.append(&record, &mut bytes).unwrap();
    }
    assert_eq!(log::read_log(&bytes).unwrap().rows(), rows);
    // The widest row has sixteen seats, and each action takes three bytes.
    let widest = Record::Actions {
        first: Tick(u32::MAX),
        rows: vec![u16::MAX; upload::ROWS_PER_RECORD * protocol::MAX_SEATS],
    };
    assert!(encoded_len(&widest).is_ok());
}
