//! The figures, as one JSON object per line: figure, name, unit, and the results of ours and GGRS; no result where none
//! is possible.

use super::arena::{Arena, Contestant as _, Played};
use super::{Clocks, median, ours, quantile, theirs, tick};
use crate::support::network::{Conditions, Partition};
use crate::support::toy::Defect;

/// Rounds of the ticks: ours and GGRS alternate, so that a busy machine shows little.
const ROUNDS: usize = 7;
/// Seeds of the matches that are about rare things.
const SEEDS: u64 = 5;

/// A line; the target is the most that ours should reach, if there is a target.
fn line(
    (figure, name, unit): (&str, &str, &str),
    target: Option<f64>,
    ours: Option<f64>,
    ggrs: Option<f64>,
) -> String {
    let number = |value: Option<f64>| match value {
        Some(value) => format!("{value:.3}"),
        None => "null".to_owned(),
    };
    let (ours, ggrs, target) = (number(ours), number(ggrs), number(target));
    format!(
        r#"{{"figure":"{figure}","name":"{name}","unit":"{unit}","ours":{ours},"ggrs":{ggrs},"target":{target}}}"#
    )
}

/// Figures 1 and 3, or 2 and 3 in wasm.
pub(crate) fn costs(clocks: Clocks, place: &str) -> Vec<String> {
    let is_native = place == "native";
    let figure = if is_native { "1" } else { "2" };
    let cost = |figure: &str, players, depth, target: f64| {
        let (ours, theirs) = (0..ROUNDS)
            .map(|_| {
                (
                    tick::ours(players, depth, clocks),
                    tick::theirs(players, depth, clocks),
                )
            })
            .unzip();
        let name = format!("{place}: a tick of {players} players, depth {depth}");
        let (ours, theirs) = (median(ours), median(theirs));
        line(
            (figure, &name, "ns"),
            Some(target),
            Some(ours),
            Some(theirs),
        )
    };
    let targets = if is_native {
        [300.0, 500.0, 800.0, 1_500.0]
    } else {
        [600.0, 900.0, 1_300.0, 2_500.0]
    };
    vec![
        cost(figure, 2, 0, targets[0]),
        cost(figure, 2, 4, targets[1]),
        cost(figure, 2, 8, targets[2]),
        cost("3", 4, 8, targets[3]),
    ]
}

/// A network with packets that take half the round trip, and up to the jitter more or less.
fn conditions(rtt_ms: u32, jitter_ms: u32, loss: u32) -> Conditions {
    Conditions {
        delay_us: rtt_ms * 500 - jitter_ms * 1_000,
        jitter_us: jitter_ms * 2_000,
        loss,
        ..Conditions::default()
    }
}

fn arena(seed: u64, conditions: Conditions, players: usize, seconds: u64) -> Arena {
    Arena {
        seed,
        conditions,
        partitions: Vec::new(),
        drift_ppm: vec![0; players],
        seconds,
    }
}

fn our_players(arena: &Arena, window: u8, delay: u8) -> Vec<ours::Player> {
    let (terms, drifts) = (ours::Terms { window, delay }, &arena.drift_ppm);
    let player =
        |(seat, drift): (usize, &i64)| ours::Player::new(seat, drifts.len(), terms, *drift);
    drifts.iter().enumerate().map(player).collect()
}

fn their_players(arena: &Arena, terms: theirs::Terms, clocks: Clocks) -> Vec<theirs::Player> {
    let players = arena.drift_ppm.len();
    (0..players)
        .map(|seat| theirs::Player::new(seat, players, terms, clocks))
        .collect()
}

/// Plays ours and theirs, each with its own window.
fn both(
    arena: &Arena,
    windows: (u8, u8),
    delay: u8,
    clocks: Clocks,
) -> ((Played, Vec<ours::Player>), (Played, Vec<theirs::Player>)) {
    let mut ours = our_players(arena, windows.0, delay);
    let played = arena.play(&mut ours, |_, _| ());
    let mut theirs = their_players(arena, theirs::Terms::of(windows.1, delay), clocks);
    let theirs_played = arena.play(&mut theirs, |_, _| ());
    ((played, ours), (theirs_played, theirs))
}

/// Bytes of the headers below a packet in a data channel: DTLS, SCTP, UDP, IP.
const HEADERS: f64 = 93.0;

/// Figures 4 to 6.
pub(crate) fn wire(clocks: Clocks) -> Vec<String> {
    let rates = |players| {
        let arena = arena(1, conditions(60, 0, 100), players, 120);
        let ((ours, _), (theirs, _)) = both(&arena, (16, 8), 2, clocks);
        [ours, theirs].map(|played| {
            let links = (players - 1) as f64;
            let (bytes, packets) = (played.bytes as f64, played.packets as f64);
            let seconds = played.seconds;
            (
                bytes / seconds,
                packets / links / seconds,
                (bytes + HEADERS * packets) / seconds,
            )
        })
    };
    let ([ours, theirs], [ours_4, theirs_4]) = (rates(2), rates(4));
    let row = |what, target, ours, theirs| line(what, Some(target), Some(ours), Some(theirs));
    let payload = ("4", "payload of a peer, RTT 60 ms, loss 1 %", "B/s");
    let headers = ("5", "the same with 93 bytes of headers each", "B/s");
    vec![
        row(payload, 1_200.0, ours.0, theirs.0),
        row(("5", "packets of a link", "1/s"), 62.0, ours.1, theirs.1),
        row(headers, 6_800.0, ours.2, theirs.2),
        row(
            ("6", "payload of a peer of 4", "B/s"),
            4_000.0,
            ours_4.0,
            theirs_4.0,
        ),
    ]
}

/// Figures 7 and 8.
pub(crate) fn pace(clocks: Clocks) -> Vec<String> {
    let stalls = |windows| {
        let (mut sums, mut seconds) = ((0, 0), (0.0, 0.0));
        for seed in 0..SEEDS {
            let arena = arena(seed, conditions(200, 20, 200), 2, 120);
            let ((played, ours), (theirs_played, theirs)) = both(&arena, windows, 3, clocks);
            sums.0 += ours.iter().map(|player| player.marks().stalls).sum::<u32>();
            sums.1 += theirs
                .iter()
                .map(|player| player.marks().stalls)
                .sum::<u32>();
            seconds.0 += 2.0 * played.seconds;
            seconds.1 += 2.0 * theirs_played.seconds;
        }
        let rate = |sum: u32, seconds: f64| Some(f64::from(sum) / seconds * 60.0);
        (rate(sums.0, seconds.0), rate(sums.1, seconds.1))
    };
    let (ours, theirs) = stalls((16, 8));
    let (ours_equal, theirs_equal) = stalls((16, 16));
    let mut drifting = arena(1, conditions(60, 10, 100), 2, 300);
    drifting.drift_ppm = vec![5_000, -5_000];
    let ((ours_played, our_players), (theirs_played, their_players)) =
        both(&drifting, (16, 8), 2, clocks);
    let waits = |sum: u32, played: &Played| Some(f64::from(sum) / played.seconds * 60.0);
    let our_waits = our_players.iter().map(|player| player.marks().waits).sum();
    let their_waits = their_players
        .iter()
        .map(|player| player.marks().waits)
        .sum();
    let spread = |played: &Played| Some(quantile(played.spread.clone(), 0.99));
    let stalled = "stalls, RTT 200 ms, jitter 20 ms, loss 2 %, delay 3; window 16, theirs 8";
    let waited = (
        waits(our_waits, &ours_played),
        waits(their_waits, &theirs_played),
    );
    let apart = "the same: distance of the players, 99 %";
    vec![
        line(("7", stalled, "1/min"), Some(0.5), ours, theirs),
        line(
            ("7", "the same, both with window 16", "1/min"),
            Some(0.5),
            ours_equal,
            theirs_equal,
        ),
        line(
            ("8", "waits, clocks ±0.5 %", "1/min"),
            Some(0.0),
            waited.0,
            waited.1,
        ),
        line(
            ("8", apart, "ticks"),
            Some(1.0),
            spread(&ours_played),
            spread(&theirs_played),
        ),
    ]
}

/// Three players. The last one falls silent: `gap_ms` later for the second player than for the first. Returns whether
/// the two confirm different states afterwards.
pub(crate) fn drop_diverges(seed: u64, gap_ms: u64, loss: u32, clocks: Clocks) -> bool {
    let dies_us = 5_000_000 + seed * 7_919_000 % 1_000_000;
    let mut arena = arena(seed, conditions(60, 10, loss), 3, 12);
    arena.partitions = [(2, 0, 0), (2, 1, gap_ms * 1_000), (0, 2, 0), (1, 2, 0)]
        .map(|(from, to, late_us)| Partition {
            from,
            to,
            from_us: dies_us + late_us,
            to_us: u64::MAX,
        })
        .into();
    let mut players = their_players(&arena, theirs::Terms::of(8, 2), clocks);
    arena.play(&mut players, |_, _| ());
    let shared = players[0].confirmed().min(players[1].confirmed());
    let [one, two] = [0, 1].map(|at: usize| players[at].digests());
    one.range(..shared)
        .any(|(frame, digest)| two.get(frame).is_some_and(|other| other != digest))
}

/// Figure 11.
pub(crate) fn seen() -> Vec<String> {
    let arena = arena(1, conditions(60, 10, 100), 2, 60);
    let players = our_players(&arena, 16, 2);
    let mut players: Vec<_> = players.into_iter().map(ours::Player::watched).collect();
    arena.play(&mut players, |_, _| ());
    let (rate, exact) = players[0].seen();
    let share = "displayed frames that cannot be rebuilt exactly";
    vec![
        line(
            ("11", share, "%"),
            Some(0.0),
            Some(100.0 - 100.0 * exact),
            None,
        ),
        line(
            ("11", "seen-log of a page", "B/s"),
            Some(300.0),
            Some(rate),
            None,
        ),
    ]
}

/// Figure 12, as far as GGRS has it, and how long it takes until a page's clock is set.
pub(crate) fn starts(clocks: Clocks) -> Vec<String> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for seed in 0..20 {
        let arena = arena(seed, conditions(200, 20, 500), 2, 8);
        let ((_, our_players), (_, their_players)) = both(&arena, (16, 8), 2, clocks);
        let last = |marks: Vec<super::arena::Marks>| {
            let running = marks
                .iter()
                .map(|marks| marks.running_us.unwrap_or(u64::MAX));
            running.max().unwrap_or(0) as f64 / 1e6
        };
        ours.push(last(
            our_players.iter().map(|player| player.marks()).collect(),
        ));
        theirs.push(last(
            their_players.iter().map(|player| player.marks()).collect(),
        ));
    }
    let detected = |interval| {
        let terms = theirs::Terms {
            interval,
            ..theirs::Terms::of(8, 2)
        };
        let mut spans = Vec::new();
        for seed in 0..20_u64 {
            let arena = arena(seed, conditions(60, 10, 100), 2, 12);
            let mut players = their_players(&arena, terms, clocks);
            let breaks_us = 6_000_000 + seed * 49_000;
            let mut broken_us = None;
            arena.play(&mut players, |now_us, players| {
                if now_us >= breaks_us && broken_us.is_none() {
                    broken_us = Some(now_us);
                    let world = players[1].world();
                    world.defect = Defect::Drift(world.state.steps + 1);
                }
            });
            let found = players
                .iter()
                .filter_map(|player| player.marks().found_us)
                .min();
            let broken_us = broken_us.expect("it was broken");
            let found_us = found.expect("states that differ are found");
            spans.push((found_us - broken_us) as f64 / 1e3);
        }
        median(spans)
    };
    let begins = "until the last clock is set, theirs: synchronised; RTT 200 ms, loss 5 %";
    let (median_s, late_s) = (median(ours.clone()), quantile(ours, 0.95));
    let (their_median_s, their_late_s) = (median(theirs.clone()), quantile(theirs, 0.95));
    let found = "a state that differs is found, comparing every 60 frames, and not whose";
    let soon = "the same, every 10 frames";
    vec![
        line(
            ("12", begins, "s"),
            Some(0.6),
            Some(median_s),
            Some(their_median_s),
        ),
        line(
            ("12", "the same, 95 %", "s"),
            None,
            Some(late_s),
            Some(their_late_s),
        ),
        line(("12", found, "ms"), None, None, Some(detected(60))),
        line(("12", soon, "ms"), None, None, Some(detected(10))),
    ]
}
