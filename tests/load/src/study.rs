//! The study that the crowd takes part in: a page of text, a lobby for two, one episode, the end.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};

use crate::hands::Native;
use crate::machine::read_usage;

/// Ticks in a second.
pub(crate) const TICK_HZ: u32 = 10;

/// Worlds that are opened to measure one: the system counts memory in pages.
const WORLDS: u64 = 500;

/// Measures the bytes of the world of one episode: the server has one for each, to step it once more.
///
/// # Errors
/// The environment does not open, or the system does not count memory.
pub(crate) fn measure_world(horizon: u32) -> anyhow::Result<u64> {
    let params =
        format!(r#"{{"layout": "cramped_room", "horizon": {horizon}, "tick_hz": {TICK_HZ}}}"#);
    let open = |seed| {
        let world = env_core::envs::open("overcooked", &params);
        let mut world: Native = world.map_err(|error| anyhow!("opening the world: {error}"))?;
        world.reset(seed);
        anyhow::Ok(world)
    };
    let before = read_usage(std::process::id())?.memory;
    let worlds = (0..WORLDS).map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let after = read_usage(std::process::id())?.memory;
    drop(worlds);
    Ok(after.saturating_sub(before) / WORLDS)
}

/// Writes the study; its episode has this many ticks.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn write_study(folder: &Path, horizon: u32) -> anyhow::Result<()> {
    let text = format!(
        "format: 1
study: {{id: load, version: 1.0.0, title: Load, contact: lab@example.edu}}
timeline:
  - {{id: how, type: instructions, pages: [how.md]}}
  - {{id: lobby, type: lobby, group_size: 2, timeout_s: 120, on_timeout: leave}}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {{layout: cramped_room, horizon: {horizon}, tick_hz: {TICK_HZ}}}
    countdown_s: 3
  - {{id: thanks, type: end, outcome: completed, file: thanks.md}}
"
    );
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for (name, text) in [
        ("study.yaml", text.as_str()),
        ("how.md", "# How to play\n\nCook together.\n"),
        ("thanks.md", "# Thank you\n"),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}
