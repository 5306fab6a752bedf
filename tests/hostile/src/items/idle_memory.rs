//! Idle sessions take the server's memory.

use std::time::Duration;

use tokio::time::sleep;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "idle-memory";
pub(crate) const TRIES: &str = "Many people sit in front of an open page; each costs the server memory.";

/// The most bytes of an idle session.
const MOST: u64 = 20_000;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let many = variant.choose("sessions", &[400, 600, 800]);
    world.serve(&Study::questions(), &[]).await?;
    // The first ones make the server allocate what it needs in any case.
    let mut pages = Vec::new();
    for _ in 0..50 {
        pages.push(world.attacker().await?);
    }
    let before = resident(world.process()?)?;
    for _ in 0..many {
        pages.push(world.attacker().await?);
    }
    sleep(Duration::from_secs(2)).await;
    let after = resident(world.process()?)?;
    let each = after.saturating_sub(before) / many;
    drop(pages);
    let seen = format!("{each} bytes for each of {many} idle sessions");
    Ok(Observed::broken_if(each > MOST, seen))
}

/// Bytes of a process in memory.
fn resident(process: u32) -> anyhow::Result<u64> {
    // Source: proc(5).
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    Ok(kib.unwrap_or_default() * 1_024)
}
