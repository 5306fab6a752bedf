//! The table of frames that pages showed, one row for each.

use std::path::Path;

use archive::{Screens, ShownPage};
use protocol::Tick;
use serde::Serialize;

use super::report::{ExportReport, Skipped};
use super::simulation::{EpisodeTable, SimulatedEpisode};
use super::table::{EpisodeKeys, Table};

/// One frame.
#[derive(Default, Serialize)]
struct SeenRow<'a> {
    life: u8,
    at_ms: u32,
    tick: u32,
    changes: u16,
    have: String,
    ahead: u8,
    wish: &'a str,
    hidden: bool,
    digest: String,
}

/// The table of frames.
pub(super) struct SeenTable(Table);

impl SeenTable {
    pub(super) fn create(out: &Path) -> anyhow::Result<Self> {
        Table::create::<(EpisodeKeys<'_>, SeenRow<'_>)>(out, "seen").map(Self)
    }

    /// Adds the frames of a page. They end where the page noted what cannot be, and why is given.
    fn add_page(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        page: ShownPage<'_>,
    ) -> anyhow::Result<Option<String>> {
        for rebuilt in page.frames {
            let rebuilt = match rebuilt {
                Ok(rebuilt) => rebuilt,
                Err(error) => {
                    let (seat, life) = (page.seat.0, page.life.0);
                    let wrong = format!("what seat {seat} showed in life {life}: {error}");
                    return Ok(Some(wrong));
                }
            };
            let frame = &rebuilt.frame;
            let have = frame.have.iter().map(|Tick(tick)| tick.to_string());
            let wish = episode.spec.actions.get(usize::from(frame.wish));
            let row = SeenRow {
                life: page.life.0,
                at_ms: frame.at_ms,
                tick: frame.tick.0,
                changes: frame.changes,
                have: have.collect::<Vec<_>>().join(" "),
                ahead: frame.ahead,
                wish: wish
                    .filter(|_| frame.ahead > 0)
                    .map_or("", |action| &action.name),
                hidden: frame.hidden,
                digest: format!("{:016x}", rebuilt.shown),
            };
            let keys = EpisodeKeys::new(&episode.log.header, page.seat);
            self.0.add(&(keys, row))?;
        }
        Ok(None)
    }
}

impl EpisodeTable for SeenTable {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        report: &mut ExportReport,
    ) -> anyhow::Result<()> {
        let stored = archive::stored(&episode.data.join(archive::FOLDER));
        let screens = Screens::new(&episode.log);
        for page in screens.pages(stored)? {
            if episode.left_out.contains(&page.seat) {
                continue;
            }
            if let Some(reason) = self.add_page(episode, page)? {
                let path = episode.path.clone();
                report.skipped.push(Skipped { path, reason });
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.0.finish()?);
        Ok(())
    }
}
