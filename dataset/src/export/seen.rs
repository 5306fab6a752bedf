//! The table of frames that pages showed, one row for each.

use archive::{Screens, ShownPage};
use protocol::Tick;

use super::column::row;
use super::output::Output;
use super::report::{ExportReport, Skipped};
use super::simulation::{EpisodeTable, SimulatedEpisode};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per frame that a page showed.
    struct SeenRow<'a> {
        /// The number of the page at this seat, as in `keys`.
        life: u8,
        /// The time at which it appeared, microseconds since the Unix epoch.
        at_unix_us: u64,
        /// The number of ticks that the page had simulated.
        tick: u32,
        /// The number of hand-overs of seats that the page knew.
        changes: u16,
        /// For each seat, in order: the first tick without an input; later inputs were predicted.
        have: String,
        /// The number of ticks beyond `tick` that were shown early, so that the person sees their own action at once.
        ahead: u8,
        /// The person's own action in these ticks, if it was not yet fixed; missing if there were no such ticks.
        wish: &'a str,
        /// True if the page was hidden.
        hidden: bool,
        /// Digest of the shown state, rebuilt; 16 hex digits.
        digest: String,
    }
}

/// The table of frames.
pub(super) struct SeenTable(Table);

impl SeenTable {
    pub(super) fn create(output: &Output) -> anyhow::Result<Self> {
        Table::create::<(EpisodeKeys<'_>, SeenRow<'_>)>(output, "seen").map(Self)
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
                at_unix_us: episode.log.header.t0_us + u64::from(frame.at_ms) * 1_000,
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
            self.0.add(&(episode.keys(page.seat), row))?;
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
        let stored = archive::open_stored(&episode.data.join(archive::FOLDER));
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
