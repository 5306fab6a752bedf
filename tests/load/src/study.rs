//! The study that the crowd takes part in: a page of text, a lobby for two, one episode, the end.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// Ticks in a second.
pub(crate) const TICK_HZ: u32 = 10;

/// Writes the study; its episode has so many ticks.
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
