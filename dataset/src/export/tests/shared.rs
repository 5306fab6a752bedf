//! Seats that people share with AI partners.

use protocol::Life;
use protocol::rules::{SharedSeats, SharingMode};

use super::*;

const NOOP: u16 = 6;
const UP: u16 = 0;
/// The first mark: kitchens have seven actions.
const MARK: u16 = 7;

/// An episode of a person who shares seat 0, with these inputs, beside somebody who does nothing.
fn shared(mode: SharingMode, policies: &[&str], inputs: &[u16]) -> (Header, Record) {
    let shared = SharedSeats {
        policies: policies.iter().map(|&name| name.into()).collect(),
        keys: policies.iter().map(|_| "KeyH".into()).collect(),
        mode,
        begins_with_partner: false,
    };
    let header = Header {
        shared: Some(shared),
        input_delay: 2,
        ..header([PERSON, Controller::Vacant], 40)
    };
    let rows = inputs.iter().flat_map(|input| [*input, NOOP]).collect();
    let first = Tick(0);
    (header, Record::Actions { first, rows })
}

/// The note of a press of the key of the mark that enters a tick.
fn pressed(number: u32, tick: u32) -> Record {
    let key = KeyEvent {
        tick: Some(Tick(tick)),
        action: MARK,
        down: true,
        at_us: i64::from(tick) * 250_000,
        shown_us: 0,
    };
    Record::Timing {
        seat: ZERO,
        life: Life(0),
        timing: Timing {
            number,
            keys: vec![key],
            ..Timing::default()
        },
    }
}

async fn exported(data: &Path, header: &Header, records: &[Record]) -> ExportReport {
    let dir = data.join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data).await.unwrap().close().await;
    let records = [&sign_rows(header, records)[..], records].concat();
    fs::write(dir.join("e-1.coplay"), encode(header, &records)).unwrap();
    let (out, options) = (data.join("out"), ExportOptions::default());
    let report = export(data, &out, &options).await.unwrap();
    let skipped = report.skipped.iter().map(|skipped| &skipped.reason);
    assert_eq!(skipped.collect::<Vec<_>>(), Vec::<&String>::new());
    report
}

#[tokio::test]
async fn a_correction_is_told_from_a_seat_that_was_taken_back() {
    let data = tempfile::tempdir().unwrap();
    // Ticks 0 and 1 are the input delay. The key is pressed for tick 8 and for tick 11.
    let inputs = [NOOP, NOOP, 7, 7, UP, UP, 7, 7, UP, NOOP, NOOP, 7, 7];
    let (header, actions) = shared(SharingMode::Override, &["idle"], &inputs);
    let records = [actions, pressed(0, 8), pressed(1, 11)];
    let report = exported(data.path(), &header, &records).await;
    let table = Cells::read(path(&report, "seat_control"));
    let own = "tick until_tick controller is_bot reason";
    assert_eq!(table.names.join(" "), format!("{KEYS} {own}"));
    let rows: Vec<_> = (0..table.rows.len())
        .map(|row| table.cells(row, own).join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "0 4 idle true start",
            "4 6 human false override",
            "6 8 idle true override_end",
            "8 11 human false taken_back",
            "11 13 idle true handed_over",
        ]
    );
    let proposals = Cells::read(path(&report, "proposals"));
    let own = "tick number policy proposed_name action_name is_chosen";
    let rows: Vec<_> = (0..proposals.rows.len())
        .map(|row| proposals.cells(row, own).join(" "))
        .collect();
    assert_eq!(
        rows,
        ["4 1 idle noop move_up false", "5 1 idle noop move_up false"]
    );
    let steps = Cells::read(path(&report, "steps"));
    let own = |row: usize| steps.cells(row, "seat controller is_bot action").join(" ");
    assert_eq!(own(2 * 2), "0 idle true 6", "what the partner chose");
    assert_eq!(own(2 * 4), "0 human false 0");
}

#[tokio::test]
async fn every_proposal_has_a_row_and_one_is_chosen() {
    let data = tempfile::tempdir().unwrap();
    let inputs = [7, 8, NOOP, 8];
    let (mut header, actions) = shared(SharingMode::Choose, &["idle", "random"], &inputs);
    (header.rules.turns, header.input_delay) = (true, 0);
    let report = exported(data.path(), &header, &[actions]).await;
    let table = Cells::read(path(&report, "proposals"));
    let column = |name: &str| table.column(name).join(" ");
    assert_eq!(column("tick"), "0 0 1 1 3 3");
    assert_eq!(column("policy"), "idle random idle random idle random");
    assert_eq!(column("is_chosen"), "true false false true false true");
    let chosen = table.rows.iter().filter(|row| row["is_chosen"] == "true");
    for row in chosen {
        assert_eq!(row["proposed"], row["action"], "{row:?}");
    }
    let reasons = Cells::read(path(&report, "seat_control"));
    assert_eq!(
        reasons.column("reason").join(" "),
        "start proposal no_choice proposal"
    );
}

#[tokio::test]
async fn demonstrations_are_marked_in_the_tables() {
    let data = tempfile::tempdir().unwrap();
    let (mut header, actions) = shared(SharingMode::Handover, &["idle"], &[NOOP; 4]);
    header.course = Some(Course {
        names: vec![(study::stage::DEMONSTRATION.into(), "true".into())],
        ..Course::default()
    });
    let report = exported(data.path(), &header, &[actions]).await;
    let seats = Cells::read(path(&report, "seats"));
    assert_eq!(seats.column("demonstration"), ["true", "true"]);
}
