//! Sequences of commands that the targets with more than one input carry out.

use super::Random;

type Seeds = Vec<(String, Vec<u8>)>;

fn named<const N: usize>(seeds: [(&str, Vec<u8>); N]) -> Seeds {
    seeds.map(|(name, bytes)| (name.to_owned(), bytes)).into()
}

/// Commands of [`crate::session`]: what to do, for which seat, and a value.
fn step(what: u8, who: u8, value: u8) -> u8 {
    what | who << 4 | value << 5
}

const TICK: u8 = 3 << 5;
const DELIVER: [u8; 2] = [0x03, 0x13];

/// Some ticks in which both play, hear each other, upload, and hear the server.
fn ticks(count: u8) -> Vec<u8> {
    let tick = |at: u8| {
        let press = step(2, at % 2, at % 7);
        let [one, two] = DELIVER;
        let heard = [step(10, 0, 0), step(10, 1, 0)];
        [TICK, press, one, two, step(8, at % 2, 0)]
            .into_iter()
            .chain(heard)
            .chain(heard)
    };
    (0..count).flat_map(tick).collect()
}

/// Sequences for [`crate::session`].
pub(super) fn sessions() -> Seeds {
    let steady = ticks(100);
    let mut random = Random(9);
    let mut wild = |lossy: bool| -> Vec<u8> {
        let honest = |random: &mut Random| (random.below(16) << 4 | random.below(7)) as u8;
        (0..900)
            .map(|_| match random.below(9) {
                0 if lossy => honest(&mut random),
                1 => step(2, random.below(2) as u8, random.below(7) as u8),
                2..=4 => TICK,
                5 => step(8 + 2 * random.below(2) as u8, random.below(2) as u8, 0),
                other => DELIVER[other % 2],
            })
            .collect()
    };
    let (rolling, lossy) = (wild(false), wild(true));
    let mut forged = steady.clone();
    for at in [11, 40, 90] {
        forged.splice(at..at, [step(7, 1, 1), 5, 0x40, 0, 0, 0]);
        forged.splice(at..at, [step(7, 0, 7)].into_iter().chain(0..35));
    }
    let mut lied = steady.clone();
    for at in [50, 130, 200, 300] {
        lied.splice(at..at, [step(15, 0, 4), 1, 30, at as u8, 1, 20, 3]);
        lied.splice(at..at, [step(15, 1, 0), 0, at as u8, at as u8]);
        lied.splice(at..at, [step(15, 1, 1), 0, 0, at as u8, 9]);
    }
    let with = |first: u8, commands: Vec<u8>| [vec![first], commands].concat();
    named([
        ("steady", with(0b10_0001, steady)),
        ("rolling", with(0b10_0000, rolling)),
        ("lossy", with(0b10_0010, lossy)),
        ("forged", with(0b10_0001, forged)),
        ("changing", with(0b10_0001, changing())),
        ("damaged", with(0b10_0001, damaged())),
        ("lied", with(0b10_0001, lied)),
    ])
}

/// A seat is taken after the last inputs that its page has uploaded, which the other page is told, and hears of the change.
fn taken(seat: u8, ai: u8) -> Vec<u8> {
    let other = step(10, 1 - seat, 0);
    let mut steps = vec![step(8, seat, 0), step(9, seat, 0)];
    steps.extend([other; 4]);
    steps.push(step(11, seat, ai));
    steps.extend([other; 2]);
    steps
}

/// One seat is taken by an AI partner and given back; the other one stands, goes to an AI partner, and is given back.
fn changing() -> Vec<u8> {
    let give_back = |seat| vec![step(12, seat, 0)];
    [
        ticks(12),
        taken(1, 1),
        ticks(9),
        give_back(1),
        ticks(30),
        taken(0, 0),
        ticks(6),
        vec![step(13, 0, 0)],
        ticks(9),
        give_back(0),
        ticks(60),
    ]
    .concat()
}

/// A page comes back with a state in which a byte is another.
fn damaged() -> Vec<u8> {
    let give_back = |at| vec![step(12, 1, 7), at, 0x10];
    let mut steps = [ticks(12), taken(1, 0), ticks(5)].concat();
    for at in [0, 4, 9, 40] {
        steps.extend(give_back(at));
        steps.extend(ticks(22));
        steps.extend(taken(1, 0));
    }
    steps
}

/// Commands of [`crate::arbiter`]: what to do, and which page.
fn page(what: u8, who: u8) -> u8 {
    what | who << 4
}

/// All work of the archive, and a while.
const WORK: [u8; 2] = [12, 20];

fn wait(magnitude: u8) -> [u8; 2] {
    [10, magnitude]
}

/// Two pages come in, read, are matched, get ready and start.
fn started() -> Vec<u8> {
    let mut steps = Vec::new();
    for who in [0, 1] {
        steps.extend([page(0, who), 0, page(2, who), 0]);
    }
    for who in [0, 1] {
        steps.push(page(3, who));
    }
    steps.extend(WORK);
    steps.extend(wait(12));
    steps
}

/// A page uploads this many ticks from where it is, and perhaps the end.
fn uploaded(who: u8, ticks: u8, end: bool) -> Vec<u8> {
    let how = 0b100 | if end { 0b10_0000 } else { 0 } | 0b1000_0001;
    let mut steps = vec![page(4, who), how, ticks];
    steps.extend(WORK);
    steps.extend(wait(9));
    steps
}

/// Both pages upload, this many times five ticks.
fn both(rounds: u8) -> Vec<u8> {
    let upload = |_| [uploaded(0, 5, false), uploaded(1, 5, false)].concat();
    (0..rounds).flat_map(upload).collect()
}

/// Sequences for [`crate::arbiter`].
pub(super) fn arbiters() -> Seeds {
    let played = [
        started(),
        both(8),
        uploaded(0, 0, true),
        uploaded(1, 0, true),
        wait(12).to_vec(),
        WORK.to_vec(),
    ]
    .concat();
    let gone = [
        started(),
        both(4),
        // A second passes in which the server hears the one page, and not the other.
        vec![page(1, 1), page(6, 0), 2],
        wait(9).to_vec(),
        uploaded(0, 4, false),
        wait(6).to_vec(),
        WORK.to_vec(),
    ]
    .concat();
    let back = [
        gone.clone(),
        vec![page(0, 1), 0b101, page(3, 1)],
        WORK.to_vec(),
        both(18),
        uploaded(0, 0, true),
        uploaded(1, 0, true),
        wait(12).to_vec(),
        WORK.to_vec(),
    ]
    .concat();
    let hidden = [
        started(),
        both(2),
        vec![page(7, 1), 0],
        uploaded(0, 5, false),
        uploaded(0, 5, false),
        uploaded(0, 5, false),
        uploaded(0, 5, false),
        wait(9).to_vec(),
        WORK.to_vec(),
        vec![page(7, 1), 1, page(9, 1), page(3, 1)],
        WORK.to_vec(),
        uploaded(0, 6, false),
    ]
    .concat();
    let failed = [
        started(),
        uploaded(0, 6, false),
        vec![page(8, 0)],
        WORK.to_vec(),
        // The disk does not take what the other page uploads.
        vec![page(4, 1), 0b1000_0101, 5, page(13, 0), 0],
        wait(15).to_vec(),
        wait(15).to_vec(),
        WORK.to_vec(),
    ]
    .concat();
    named([
        ("played", played),
        ("gone", gone),
        ("back", back),
        ("hidden", hidden),
        ("failed", failed),
    ])
}

/// Two pages load, find a way to each other or not, and start.
fn linked(direct: bool) -> Vec<u8> {
    let mut steps = vec![step(7, 0, 0), step(7, 1, 0), step(1, 0, 0), step(1, 1, 0)];
    if direct {
        steps.extend([step(5, 0, 0), step(5, 1, 0)]);
    }
    for _ in 0..10 {
        steps.push(step(0, 0, 1));
        steps.extend([step(3, 0, 0), step(3, 1, 0)].repeat(3));
    }
    steps.extend([step(11, 0, 0), 0, step(11, 1, 0), 0, step(0, 0, 6)]);
    steps
}

/// So many rounds of 120 ms in which both press, are shown a frame, and hear each other.
fn rounds(count: u8) -> Vec<u8> {
    let round = |at: u8| {
        let acts = [
            step(2, at % 2, at % 7),
            step(9, 0, 1),
            step(9, 1, 0),
            step(0, 0, 2),
        ];
        let hears = [step(3, 0, 0), step(3, 1, 0)].repeat(4);
        acts.into_iter().chain(hears)
    };
    (0..count).flat_map(round).collect()
}

/// Sequences for [`crate::peer`].
pub(super) fn peers() -> Seeds {
    let archived = |who: u8, through: u8| vec![step(11, who, 3), 0, through, through, through, 0];
    let heard = vec![step(11, 0, 4), 1, 1, 0, 0, 9];
    let taken = |who: u8| vec![step(12, who, 0), 1, 9, 2, 1, 9, 9];
    let with = |commands: Vec<u8>| [vec![0x80], commands].concat();
    let gone = [
        linked(true),
        rounds(18),
        heard,
        taken(0),
        taken(1),
        archived(0, 20),
        rounds(20),
        archived(0, 60),
        rounds(40),
    ]
    .concat();
    let back = [
        linked(true),
        rounds(14),
        vec![step(14, 1, 0), 0x83, step(7, 1, 0), step(0, 0, 2)],
        vec![step(13, 1, 2), 1, 9, 2, 1, 9, 9, 1, 30, 0, 2, 0, 0],
        rounds(10),
    ]
    .concat();
    let hidden = [
        linked(false),
        rounds(10),
        vec![step(8, 1, 0), step(7, 0, 1)],
        rounds(10),
        vec![step(8, 1, 1), step(7, 0, 0), step(11, 0, 6), 0, 4, 4],
        rounds(10),
    ]
    .concat();
    named([
        ("direct", with([linked(true), rounds(90)].concat())),
        ("relayed", with([linked(false), rounds(90)].concat())),
        ("gone", with(gone)),
        ("back", with(back)),
        ("hidden", with(hidden)),
    ])
}
