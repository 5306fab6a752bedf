//! The faults of a person in front of a real page.

use std::time::{Duration, Instant};

use protocol::control::StageView;
use serde_json::json;

use super::page::Person;
use super::tab::Tab;
use crate::fault::Fault;
use crate::record::Phase;

impl Person {
    /// Carries out the fault. Returns the end, if it ends the session.
    pub(super) async fn go_wrong(&mut self) -> anyhow::Result<Option<Phase>> {
        let Some(fault) = self.fault else {
            return Ok(None);
        };
        self.mishaps += 1;
        self.record.lock().happened = true;
        match fault {
            Fault::DropLobby | Fault::DropPlay | Fault::CloseSurvey | Fault::Idle => {
                self.add_note("closes the page for good");
                // Messages that the page sent before it was closed count.
                self.tab.close().await?;
                self.handle_events().ok();
                return Ok(Some(Phase::Gone));
            }
            Fault::Reload => {
                self.add_note("reloads");
                self.watch.begin_again();
                self.tab.page("Page.reload", json!({})).await?;
            }
            Fault::Return => {
                self.add_note("closes the page, and opens it again");
                self.tab.close().await?;
                let away_ms = 1_000 + self.rng.draw_below(9_000) as u64;
                tokio::time::sleep(Duration::from_millis(away_ms)).await;
                self.open_again().await?;
            }
            Fault::SecondTab => {
                self.add_note("opens a second tab");
                let old = self.open_again().await?;
                self.old = Some((old, Instant::now()));
            }
            Fault::Withdraw => {
                self.add_note("withdraws");
                self.withdraw().await?;
            }
            Fault::Refuse
            | Fault::FailQuiz
            | Fault::SlowNetwork
            | Fault::Malformed
            | Fault::Server => {}
        }
        Ok(None)
    }

    /// Leaves the study; on a debrief that allows it, with withdrawal of the data.
    async fn withdraw(&mut self) -> anyhow::Result<()> {
        let view = self.watch.stage.as_ref().map(|stage| &stage.view);
        if let Some(StageView::Debrief {
            allow_withdraw: true,
            ..
        }) = view
        {
            self.record.lock().has_withdrawn = true;
            self.tab
                .click_element("section.debrief .actions button.secondary")
                .await?;
            return self
                .tab
                .click_element("section.debrief .actions button.danger")
                .await;
        }
        self.tab.click_element("button.leave:not([hidden])").await?;
        self.tab
            .click_element("section.confirm button.secondary")
            .await
    }

    /// Opens the link again, in a second tab; returns the first one.
    async fn open_again(&mut self) -> anyhow::Result<Tab> {
        self.handle_events()?;
        self.watch.begin_again();
        let tab = Tab::open(&self.tools, &self.context).await?;
        let before = std::mem::replace(&mut self.tab, tab);
        let address = self.address(&self.way.entry_query());
        self.go_to(&address).await?;
        Ok(before)
    }

    /// Delays or drops the packets of the page.
    pub(super) async fn slow_down(&self) -> anyhow::Result<()> {
        let how = json!({
            "offline": false, "latency": 80, "packetLoss": 5, "downloadThroughput": -1, "uploadThroughput": -1,
        });
        self.tab
            .page("Network.emulateNetworkConditions", how)
            .await
            .map(drop)
    }
}
