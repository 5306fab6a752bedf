//! The studies that are attacked: short, and as a researcher would write them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// A study, part by part.
#[derive(Clone, Debug)]
pub(crate) struct Study {
    /// Keys of `study` beside its id, version, title and contact.
    pub about: String,
    /// The block `recruitment`; empty for none.
    pub recruitment: String,
    /// The block `design`; empty for none.
    pub design: String,
    /// The value of `net`; empty for none.
    pub net: String,
    /// The stages before the last page, one a line, each with two spaces and a dash.
    pub stages: String,
    /// The formula of the bonus; empty for none.
    pub bonus: String,
}

/// Prolific, GBP, a base and a rate for time.
const RECRUITMENT: &str = "  provider: prolific
  currency: GBP
  base: 1.00
  time_rate_per_hour: 9.00
";

impl Study {
    /// Two people wait, and cook for this many ticks at a rate.
    pub(crate) fn pair(horizon: u32, tick_hz: u32) -> Self {
        Self {
            about: String::new(),
            recruitment: RECRUITMENT.to_owned(),
            design: String::new(),
            net: String::new(),
            stages: format!(
                "  - {{id: lobby, type: lobby, group_size: 2, timeout_s: 120, on_timeout: leave}}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {{layout: cramped_room, horizon: {horizon}, tick_hz: {tick_hz}}}
    countdown_s: 1
    on_disconnect: {{grace_s: 5}}
"
            ),
            bonus: "round2(0.02 * sum(play.episodes.map(e, e.score)))".to_owned(),
        }
    }

    /// One question, and nothing else.
    pub(crate) fn questions() -> Self {
        Self {
            about: String::new(),
            recruitment: RECRUITMENT.to_owned(),
            design: String::new(),
            net: String::new(),
            stages: "  - id: ask
    type: survey
    surveyjs: {elements: [{type: comment, name: why, title: Why?}]}
"
            .to_owned(),
            bonus: String::new(),
        }
    }

    /// Puts stages before the others.
    pub(crate) fn first(mut self, stages: &str) -> Self {
        self.stages.insert_str(0, stages);
        self
    }

    /// Puts stages after the others.
    pub(crate) fn then(mut self, stages: &str) -> Self {
        self.stages.push_str(stages);
        self
    }

    /// Writes the study into a folder.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        let mut text = "format: 1\nstudy:\n  id: hostile\n  version: 1.0.0\n".to_owned();
        text.push_str("  title: Cooking\n  contact: lab@example.edu\n");
        text.push_str(&self.about);
        for (key, part) in [("recruitment", &self.recruitment), ("design", &self.design)] {
            if !part.is_empty() {
                // Writing to a string does not fail.
                let _ = write!(text, "{key}:\n{part}");
            }
        }
        if !self.net.is_empty() {
            let _ = writeln!(text, "net: {}", self.net);
        }
        let _ = write!(text, "timeline:\n{}", self.stages);
        text.push_str("  - {id: thanks, type: end, file: thanks.md}\n");
        if !self.bonus.is_empty() {
            let _ = writeln!(text, "bonus: {}", self.bonus);
        }
        fs::write(folder.join("study.yaml"), text).context("the study file")?;
        fs::write(folder.join("thanks.md"), "Thank you.\n")?;
        fs::write(folder.join("consent.md"), "# Consent\n\nDo you agree?\n")?;
        fs::write(
            folder.join("debrief.md"),
            "# What it was about\n\nCooking.\n",
        )?;
        Ok(())
    }
}
