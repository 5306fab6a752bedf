//! Logs of episodes to begin with.

use protocol::chain::leaf_of;
use protocol::log::LogWriter;

use super::*;

pub(super) fn logs() -> Vec<(String, Vec<u8>)> {
    let plan = plan();
    let header = Header {
        episode: plan.episode,
        study: "overcooked-dyad".into(),
        study_version: "1".into(),
        study_hash: "ab".into(),
        stage: "play".into(),
        group: "G-1".into(),
        participants: vec!["P-7K3Q".into(), String::new()],
        module: "cd".into(),
        env: plan.env,
        env_version: plan.env_version,
        params: plan.params,
        seed: plan.seed,
        controllers: plan.controllers,
        tick_hz: plan.tick_hz,
        input_delay: 1,
        t0_us: 1_700_000_000_000_000,
        rules: Default::default(),
        course: None,
        keys: vec![page_key().verifying_key().to_bytes(), [0; 32]],
        way: protocol::EnvWay::Module,
        shared: None,
    };
    let early = Chain::new("e-1", Seat(0), Life(0), Tick(0)).sign(&page_key(), vec![6, 5], [1; 16]);
    let records = [
        Record::Inputs {
            seat: Seat(0),
            life: Life(0),
            block: early.clone(),
        },
        Record::Erased {
            seat: Seat(0),
            life: Life(1),
            first: Tick(2),
            len: 2,
            leaf: leaf_of(&early),
            signature: early.signature,
        },
        Record::Actions {
            first: Tick(0),
            rows: vec![6, 6, 5, 6],
        },
        Record::Digest {
            tick: Tick(2),
            seat: None,
            digest: 9,
        },
        Record::Digest {
            tick: Tick(2),
            seat: Some(Seat(0)),
            digest: 9,
        },
        Record::Timing {
            seat: Seat(0),
            life: Life(0),
            timing: timing(),
        },
        Record::Change(change()),
        Record::Presence {
            seat: Seat(0),
            at_us: 1_700_000_000_100_000,
            presence: Presence::Gone,
        },
        Record::Diverged {
            seat: Seat(0),
            tick: Tick(2),
            expected: 9,
            found: 8,
        },
        Record::Equivocation {
            seat: Seat(1),
            tick: Tick(1),
            by: Seat(0),
            durable: 6,
            told: 5,
        },
        Record::Route {
            seat: Seat(0),
            other: Seat(1),
            at_us: 1_700_000_000_200_000,
            link: Link::Relay,
        },
        Record::Actions {
            first: Tick(2),
            rows: vec![1, 2],
        },
        Record::End(Ending {
            ticks: Tick(3),
            reason: EndReason::PartnerLeft,
            score: -1,
            digest: 3,
        }),
    ];
    let (mut writer, begun) = LogWriter::begin(&header).expect("the header is short");
    let mut whole = begun.clone();
    for record in &records {
        writer
            .append(record, &mut whole)
            .expect("the record is short");
    }
    let torn = whole[..whole.len() - 5].to_vec();
    let zeros = [begun.as_slice(), &[0; 24]].concat();
    let mut damaged = whole.clone();
    damaged[begun.len() + 13] ^= 4;
    [
        ("begun", begun),
        ("whole", whole),
        ("torn", torn),
        ("zeros", zeros),
        ("damaged", damaged),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}

/// The bodies of the logs that are whole, each after its length: see [`crate::records`].
pub(super) fn records() -> Vec<(String, Vec<u8>)> {
    let bodies = |bytes: &[u8]| -> Vec<u8> {
        let (mut out, mut rest) = (Vec::new(), &bytes[log::MAGIC.len()..]);
        while let Some((len, after)) = rest.split_first_chunk() {
            // Behind the number and the checksum.
            let (body, after) = after[8..].split_at(u32::from_le_bytes(*len) as usize);
            out.extend((body.len() as u16).to_le_bytes());
            out.extend(body);
            rest = after;
        }
        out
    };
    let mut whole = logs();
    whole.retain(|(name, _)| matches!(name.as_str(), "begun" | "whole"));
    let mut seeds: Vec<_> = whole
        .into_iter()
        .map(|(name, bytes)| (name, bodies(&bytes)))
        .collect();
    let twice = seeds[1].1.repeat(2);
    seeds.push(("twice".to_owned(), twice));
    seeds
}
