//! Right digests, again and again: each is true, and all of them together fill the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use crate::aftermath::Stalled;
use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::wire::log::Frames;
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "old-digests";
pub(crate) const TRIES: &str =
    "A page uploads right digests of old ticks again and again, and each is written into the file of the episode.";

/// Ticks of an episode.
const HORIZON: u32 = 120;

/// The record of a digest.
const DIGEST: u8 = 2;

/// The digests that come again.
#[derive(Clone, Copy, Debug)]
enum Again {
    /// All so far.
    All,
    /// The first one.
    First,
    /// The last one.
    Last,
    /// The first half, and then the second one, so that each upload has older ones than the one before.
    ByHalves,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let again = variant.choose("again", &[Again::All, Again::ByHalves, Again::Last, Again::First]);
    let each = variant.choose("uploads at once", &[4, 2, 3]);
    let after_ticks = variant.draw("after ticks", 10, 40) as u32;
    world.serve(&Study::pair(HORIZON, 10), &[]).await?;
    world.play_honestly().await?;
    let honest = sizes(world)?;
    let honest_bytes = honest.values().copied().max().unwrap_or(0);
    let page = world.attacker().await?;
    let victim = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= after_ticks)
        .await?;
    let (mut uploads, mut said) = (0, 0);
    while player.ended.is_none()
        && !player.is_closed
        && player.is_seated()
        && player.durable < HORIZON
    {
        let all = player.true_digests()?;
        if all.is_empty() {
            // It has not heard what its partner did.
            return Err(Stalled::after(player.stall).into());
        }
        let half = all.len() / 2;
        for upload in 0..each {
            let digests = match again {
                Again::All => all.clone(),
                Again::First => all[..1].to_vec(),
                Again::Last => all[all.len() - 1..].to_vec(),
                Again::ByHalves if upload % 2 == 0 => all[half..].to_vec(),
                Again::ByHalves => all[..half].to_vec(),
            };
            uploads += 1;
            said += digests.len();
            player.upload_digests(digests).await?;
        }
        player.run(Duration::from_millis(50)).await?;
    }
    let refused = player.refused;
    player
        .run_while(Duration::from_secs(15), |player| player.end.is_none())
        .await?;
    wait_until(Duration::from_secs(40), || victim.is_over()).await;
    let (outcome, stuck) = (victim.outcome(), victim.stuck_stage());
    let me = player.plan.seat;
    drop((victim, player));
    world.stop().await?;
    let (is_sound, verified) = world.verify().await?;
    let mut after = sizes(world)?;
    after.retain(|path, _| !honest.contains_key(path));
    let (path, bytes) = after.pop_first().ok_or_else(|| anyhow::anyhow!("there is no second episode"))?;
    let log = Frames::read(&fs::read(path)?)?;
    let of_page = log.frames.iter().filter_map(|(_, body)| digest_of(body, me));
    let written: Vec<u32> = of_page.collect();
    let ticks: BTreeSet<u32> = written.iter().copied().collect();
    let (written, ticks) = (written.len(), ticks.len());
    let seen = format!(
        "{said} right digests in {uploads} uploads, refused: {refused:?}; {written} of {ticks} ticks are in the file, which has \
         {bytes} bytes, that of two honest pages {honest_bytes}; the honest page ends as {outcome:?}, stuck: {stuck:?}; \
         verify: {verified}"
    );
    let is_grown = written > ticks || bytes > honest_bytes * 5 / 4;
    let is_harmed = outcome.as_deref() != Some("completed") || !is_sound;
    Ok(Observed::broken_if(is_grown || is_harmed, seen))
}

/// The tick of the digest of a seat's page, if that is what a record is: its kind, the tick, `Some`, the seat, the digest.
fn digest_of(body: &[u8], seat: u8) -> Option<u32> {
    let (&DIGEST, rest) = body.split_first()? else {
        return None;
    };
    let (tick, rest) = postcard::take_from_bytes::<u32>(rest).ok()?;
    rest.starts_with(&[1, seat]).then_some(tick)
}

/// The bytes of every episode file.
fn sizes(world: &World) -> anyhow::Result<BTreeMap<std::path::PathBuf, u64>> {
    let mut sizes = BTreeMap::new();
    for file in fs::read_dir(world.data().join("episodes"))? {
        let file = file?;
        sizes.insert(file.path(), file.metadata()?.len());
    }
    Ok(sizes)
}
