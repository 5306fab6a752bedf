//! Notes that are as long as they may be, or choices without end, so that the file of a short episode fills the disk.

use std::fs;
use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::setting::Setting;
use crate::study::Study;
use crate::wire::messages::{KeyEvent, Timing, Upload};
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "filling-notes";
pub(crate) const TRIES: &str =
    "A page uploads notes that are as long as they may be, so that short episodes fill the disk.";

/// Notes of the attack.
const NOTES: u32 = 240;

/// Bytes that the file of an episode of ten seconds may have: a page writes some hundred bytes a second.
const MOST: u64 = 1_000_000;

/// The part of the notes that is long.
#[derive(Clone, Copy, Debug)]
enum Long {
    /// Frames that were shown: bytes that are none.
    Frames,
    /// Spans in which the view held.
    Holds,
    /// Key events.
    Keys,
    /// Choices in a world on a host, where they belong to no tick.
    Choices,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let long = variant.choose("long", &[Long::Choices, Long::Frames, Long::Holds, Long::Keys]);
    let kilobytes = variant.choose("kilobytes of a note", &[200, 60, 10]);
    let study = match long {
        Long::Choices => Setting::Host.study(100, 10),
        _ => Study::pair(100, 10),
    };
    world.serve(&study, &[]).await?;
    let page = world.attacker().await?;
    let honest = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= 5)
        .await?;
    for number in 0..NOTES {
        let block = match long {
            // Two bytes each.
            Long::Choices => Some(player.sign(vec![1; (kilobytes * 500).min(8_000)])),
            _ => None,
        };
        let upload = Upload {
            timing: Some(note(number, long, kilobytes * 1_000)),
            block,
            ..player.upload()
        };
        player.send_upload(upload).await?;
        player.run(Duration::from_millis(20)).await?;
        if player.is_closed || player.ended.is_some() {
            break;
        }
    }
    player
        .run_while(Duration::from_secs(30), |player| player.end.is_none())
        .await?;
    let refused = player.refused;
    drop(player);
    wait_until(Duration::from_secs(40), || honest.is_over()).await;
    let (outcome, pay) = (honest.outcome(), honest.pay());
    drop(honest);
    world.stop().await?;
    let bytes = fs::metadata(world.log_of_episode()?)?.len();
    let (is_sound, said) = world.verify().await?;
    let seen = format!(
        "the file of the episode has {bytes} bytes; refused: {refused:?}; the honest page ends as {outcome:?} with {pay}; \
         verify: {said}"
    );
    let is_paid = pay.contains(|digit: char| matches!(digit, '1'..='9'));
    Ok(Observed::broken_if(bytes > MOST || !is_paid || !is_sound, seen))
}

/// A note of about this many bytes.
fn note(number: u32, long: Long, bytes: usize) -> Timing {
    let key = KeyEvent {
        tick: Some(3),
        action: 1,
        down: true,
        at_us: i64::MIN,
        shown_us: i64::MAX,
    };
    let mut timing = Timing {
        number,
        ..Timing::default()
    };
    match long {
        Long::Frames => timing.seen = vec![0xa5; bytes],
        Long::Holds => timing.holds = vec![(u32::MAX, u32::MAX); bytes / 10],
        Long::Choices => {}
        Long::Keys => timing.keys = vec![key; bytes / 24],
    }
    timing
}
