//! Episodes on a host: rows follow from choices, and only a second run shows that a world repeats itself.

use archive::fixtures::{PageScript, no_modules, observation_record};
use archive::{HostedHand, Replica};
use protocol::control::EndReason;
use protocol::{EnvWay, Tick};

use super::*;

const ONE: Seat = Seat(1);

/// The records of an episode in which the second person's page sends a choice before every fourth tick.
fn played_on_a_host() -> (Header, Vec<Record>) {
    let header = Header {
        way: EnvWay::Host,
        module: String::new(),
        ..header([PERSON, PERSON], 20)
    };
    let mut replica = Replica::open(&header, no_modules).unwrap();
    let spec = replica.spec().clone();
    let (mut page, mut hand) = (
        PageScript::new(&header, ONE),
        HostedHand::new(false, spec.noop),
    );
    let (mut records, mut said) = (Vec::new(), 0);
    while !replica.outcome().over {
        let first = replica.ticks();
        if first.0.is_multiple_of(4) {
            let action = (first.0 / 4 % 4) as u16;
            let block = page.sign_block(said, vec![action]).unwrap();
            said += 1;
            hand.take(action, &spec, true);
            let (seat, life) = (ONE, Life(0));
            records.push(Record::Inputs { seat, life, block });
        }
        let row = vec![spec.noop, hand.next(spec.noop, true).unwrap()];
        replica.step(&row).unwrap();
        let hashes = vec![replica.observe_digest(0), replica.observe_digest(1)];
        let rewards = [0, 1].map(|seat| replica.outcome().rewards[seat].to_bits());
        records.push(Record::Actions { first, rows: row });
        records.push(Record::Observed {
            first,
            hashes,
            rewards: rewards.into(),
        });
    }
    records.push(Record::End(replica.read_ending(EndReason::Played)));
    (header, records)
}

fn with(records: &[Record], differs: Option<Tick>) -> Vec<Record> {
    [records, &[Record::Repeated { differs }]].concat()
}

#[tokio::test]
async fn rows_that_follow_from_choices_are_equal() {
    let (header, records) = played_on_a_host();
    for repeated in [records.clone(), with(&records, None)] {
        let (found, because) = judged(&header, &repeated).await;
        assert_eq!((because.as_str(), found.way), ("", "host"));
        assert!(
            found.is_fine() && found.to_string().contains("run again"),
            "{found}"
        );
    }
}

#[tokio::test]
async fn an_observation_without_its_recorded_hash_is_found() {
    let (header, records) = played_on_a_host();
    let first = records.iter().find_map(|record| match record {
        Record::Actions { rows, .. } => Some(rows.clone()),
        _ => None,
    });
    let mut replica = Replica::open(&header, no_modules).unwrap();
    replica.step(&first.unwrap()).unwrap();
    let mut values = Vec::new();
    replica.observe(ONE, &mut values);
    let observed = |values: &[f32]| {
        let mut records = records.clone();
        let kept = observation_record(ONE, Tick(1), values);
        records.insert(records.len() - 1, kept);
        records
    };
    let (_, because) = judged(&header, &with(&observed(&values), None)).await;
    assert_eq!(because, "");
    values[2] += 1.0;
    let (_, because) = judged(&header, &with(&observed(&values), None)).await;
    assert!(
        because.contains("does not have the recorded hash"),
        "{because}"
    );
    let (_, because) = judged(&header, &with(&observed(&values[1..]), None)).await;
    assert!(because.contains("do not have"), "{because}");
}

#[tokio::test]
async fn a_row_that_does_not_follow_from_choices_is_found() {
    let (header, records) = played_on_a_host();
    for (late, of) in [(0, "tick 0: seat 1"), (3, "tick 4: seat 1")] {
        let mut records = records.clone();
        let at = |record: &Record| matches!(record, Record::Inputs { .. });
        let found: Vec<usize> = (0..records.len())
            .filter(|place| at(&records[*place]))
            .collect();
        // The choice comes one tick later in the file than it counted.
        let place = found[late / 3];
        let moved = records.remove(place);
        records.insert(place + 2, moved);
        let (_, because) = judged(&header, &with(&records, None)).await;
        assert!(because.starts_with(of), "{because}");
    }
}

#[tokio::test]
async fn a_choice_that_somebody_else_signed_is_found() {
    let (header, mut records) = played_on_a_host();
    for record in &mut records {
        if let Record::Inputs { seat, block, .. } = record
            && *seat == Seat(1)
        {
            block.signature[1][3] ^= 1;
        }
    }
    let (_, because) = judged(&header, &with(&records, None)).await;
    assert!(
        because.contains("is not signed by the seat's page"),
        "{because}"
    );
    assert!(because.starts_with("seat 1"), "{because}");
}

#[tokio::test]
async fn a_world_that_did_not_repeat_itself_is_recorded_and_one_that_claims_it_differs() {
    let (header, mut records) = played_on_a_host();
    for record in &mut records {
        if let Record::Observed { hashes, .. } = record {
            hashes[0] ^= 1;
        }
    }
    let (_, because) = judged(&header, &with(&records, None)).await;
    assert!(
        because.starts_with("run again, the world differs"),
        "{because}"
    );
    let (found, because) = judged(&header, &with(&records, Some(Tick(1)))).await;
    assert!(because.starts_with("recorded: run again"), "{because}");
    assert!(found.is_fine());
}

#[tokio::test]
async fn the_sum_tells_recorded_episodes_from_verified_ones_and_scores_are_those_of_files() {
    let (header, mut records) = played_on_a_host();
    let (equal, _) = judged(&header, &with(&records, None)).await;
    let Some(Record::End(ending)) = records.last_mut() else {
        panic!("the episode has an end");
    };
    (ending.score, ending.digest) = (31, 7);
    let (found, because) = judged(&header, &with(&records, Some(Tick(20)))).await;
    assert!(because.starts_with("recorded: the end"), "{because}");
    assert_eq!(
        (found.score, found.digest.as_str()),
        (Some(31), "0000000000000007")
    );
    let report = VerifyReport {
        episodes: vec![equal, found],
        ..VerifyReport::default()
    };
    let text = report.to_string();
    assert!(
        text.ends_with("1 of 2 episodes verified, 1 recorded"),
        "{text}"
    );
    assert!(report.is_fine());
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["episodes"][1]["score"], 31);
    // The rows must follow from what people's pages said all the same.
    let said = |record: &Record| matches!(record, Record::Inputs { .. });
    let place = records.iter().position(said).unwrap();
    records.remove(place);
    let (_, because) = judged(&header, &with(&records, Some(Tick(20)))).await;
    assert!(
        because.starts_with("seat 1") || because.starts_with("tick 0: seat 1"),
        "{because}"
    );
}

#[tokio::test]
async fn a_running_world_that_comes_out_otherwise_is_recorded_without_a_score() {
    let (header, mut records) = played_on_a_host();
    records.pop();
    for record in &mut records {
        if let Record::Observed { rewards, .. } = record {
            rewards[0] ^= 1;
        }
    }
    let (found, because) = judged(&header, &records).await;
    assert!(because.starts_with("recorded: run again"), "{because}");
    assert_eq!(found.score, None);
    assert!(!found.to_string().contains("score"), "{found}");
}
