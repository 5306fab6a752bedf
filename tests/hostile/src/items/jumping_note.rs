//! A note whose ticks, times or numbers jump by millions or billions: who follows it step by step never comes to an end.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::{KeyEvent, Timing, Upload};
use crate::wire::seen::{Frame, write_chunk};
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "jumping-note";
pub(crate) const TRIES: &str =
    "A page uploads a note whose ticks jump by up to 2^31, so that the archive cannot be verified or takes for ever.";

/// The jump.
const FAR: u32 = 1 << 31;

/// An episode that nobody plays to its end: a program that follows a jump steps through all of it.
const LONG: u32 = 10_000_000;

/// `verify` has so long for an episode of ten seconds, on a busy machine.
const WITHIN: Duration = Duration::from_secs(30);

/// The numbers that jump.
#[derive(Clone, Copy, Debug)]
enum Jump {
    /// The ticks of frames, to the end of an episode of many days.
    FrameTicksInBounds,
    /// The ticks of frames.
    FrameTicks,
    /// The ticks of frames, and what the page knew of inputs then.
    FrameTicksAndInputs,
    /// The times of frames.
    FrameTimes,
    /// The inputs that were missing, there and back.
    FrameInputs,
    /// Spans and instants of everything else.
    Spans,
    /// The numbers of notes.
    Numbers,
    /// The ticks of digests.
    Digests,
    /// The ticks of millions of frames, by a second there and back, each of which a page might have shown.
    Swings,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let jumps = [
        Jump::Swings,
        Jump::FrameTicksInBounds,
        Jump::Spans,
        Jump::FrameTimes,
        Jump::FrameTicks,
        Jump::FrameTicksAndInputs,
        Jump::Numbers,
        Jump::FrameInputs,
        Jump::Digests,
    ];
    let jump = variant.choose("jump", &jumps);
    let back = variant.choose("and back", &[false, true]);
    let horizon = match jump {
        Jump::FrameTicksInBounds | Jump::FrameTimes | Jump::Spans | Jump::Swings => LONG,
        _ => 100,
    };
    world.serve(&Study::pair(horizon, 10), &[]).await?;
    let page = world.attacker().await?;
    let honest = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= 20)
        .await?;
    for (number, upload) in uploads(&player, jump, back).into_iter().enumerate() {
        player.send_upload(upload).await?;
        if number % 40 == 39 {
            // The server takes this many in one go.
            let sent = number as u32 + 1;
            let is_taken = player
                .run_while(Duration::from_secs(3), |player| player.notes < sent)
                .await?;
            // No more are taken.
            if !is_taken {
                break;
            }
        }
    }
    // A long episode ends as it goes.
    let stays = Duration::from_secs(if horizon == LONG { 3 } else { 30 });
    player
        .run_while(stays, |player| player.end.is_none())
        .await?;
    let refused = player.refused;
    player.page.close().await;
    // Its partner plays on, also if the page is refused.
    wait_until(Duration::from_secs(40), || honest.is_over()).await;
    let (outcome, pay) = (honest.outcome(), honest.pay());
    drop(honest);
    world.stop().await?;
    let began = Instant::now();
    let verified = timeout(WITHIN, world.verify()).await;
    let took_s = began.elapsed().as_secs_f32();
    let (is_sound, said) = match verified {
        Ok(verified) => verified?,
        Err(_) => (false, "does not come to an end".to_owned()),
    };
    let export = timeout(WITHIN, world.table("events")).await;
    let export = match export {
        Ok(Ok(_)) => "written".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "does not come to an end".to_owned(),
    };
    let seen = format!(
        "refused at upload: {refused:?}; verify after {took_s:.1} s: {said}; export: {export}; the honest page ends as \
         {outcome:?} with {pay}"
    );
    let is_paid = pay.contains(|digit: char| matches!(digit, '1'..='9'));
    Ok(Observed::broken_if(!is_sound || export != "written" || !is_paid, seen))
}

fn uploads(player: &Player, jump: Jump, back: bool) -> Vec<Upload> {
    let seats = player.plan.controllers.len();
    let frame = |at_ms, tick, have| Frame {
        at_ms,
        tick,
        have: vec![have; seats],
        fresh: vec![0; seats],
    };
    let (first, near) = (frame(1_000, 10, 10), frame(1_034, 12, 12));
    let far = match jump {
        Jump::FrameTicksInBounds => frame(1_017, LONG - 1, 10),
        Jump::FrameTicks => frame(1_017, FAR, 10),
        Jump::FrameTimes => frame(FAR, 11, 10),
        Jump::FrameInputs => frame(1_017, 11, FAR),
        _ => frame(1_017, FAR, FAR),
    };
    let frames = match back {
        true => vec![first, far, near],
        false => vec![first, far],
    };
    let mut upload = player.upload();
    let mut timing = Timing::default();
    if let Jump::Swings = jump {
        return swings(player, seats);
    }
    match jump {
        Jump::Spans => timing = spans(back),
        Jump::Numbers => timing.number = FAR,
        Jump::Digests => upload.digests = vec![(10, 7), (FAR, 8), (u32::MAX, 9)],
        _ => timing.seen = write_chunk(&frames, seats),
    }
    let first = Upload {
        timing: Some(timing.clone()),
        ..upload.clone()
    };
    if back && matches!(jump, Jump::Numbers) {
        let timing = Some(Timing::default());
        return vec![first, Upload { timing, ..upload }];
    }
    vec![first]
}

/// Notes of as many frames as there may be in one.
const NOTES: u32 = 1_000;
const FRAMES: u32 = 1_024;

/// Notes of a page that shows tick 20, and then tick 10, and then tick 20, and so on.
fn swings(player: &Player, seats: usize) -> Vec<Upload> {
    let frame = |number: u32| Frame {
        at_ms: 1_000 + number * 17,
        tick: if number.is_multiple_of(2) { 20 } else { 10 },
        have: vec![10; seats],
        fresh: vec![0; seats],
    };
    let note = |number: u32| {
        let frames: Vec<Frame> = (number * FRAMES..(number + 1) * FRAMES).map(frame).collect();
        let seen = write_chunk(&frames, seats);
        let timing = Some(Timing {
            number,
            seen,
            ..Timing::default()
        });
        Upload {
            timing,
            ..player.upload()
        }
    };
    (0..NOTES).map(note).collect()
}

/// A note of all that has ticks.
fn spans(back: bool) -> Timing {
    let key = |tick| KeyEvent {
        tick: Some(tick),
        action: 1,
        down: true,
        at_us: i64::from(FAR),
        shown_us: i64::from(FAR),
    };
    let last = if back { 13 } else { u32::MAX };
    Timing {
        keys: vec![key(12), key(FAR), key(last)],
        rollbacks: vec![(12, 1), (FAR, 255), (last, 1)],
        holds: vec![(12, 10), (FAR, u32::MAX), (last, 1)],
        hidden: vec![(5, FAR), (last, last)],
        delays: vec![(12, 1), (FAR, 2), (last, 3)],
        screens: vec![(12, true), (FAR, false), (last, true)],
        ..Timing::default()
    }
}
