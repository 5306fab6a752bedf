//! One honest participant over the real program, for tests that put dishonest ones beside it.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::anyhow;
use catalog::{models, read_study};
use clock::Clock;
use study::assign::Rng;
use tokio::sync::{oneshot, watch};
use tokio::task::LocalSet;

use super::driver;
use super::shared_state::SharedState;
use crate::bot::{StudyInfo, Ticket, read_hosted_specs};
use crate::entry::EntryWay;
use crate::link_counts::LinkCounts;
use crate::record::{Phase, Shared};

/// An honest participant: the page that people's browsers run, and somebody who reads, answers and plays.
/// They leave when this is dropped.
#[derive(Debug)]
pub struct HonestPage {
    record: Shared,
    _stays: oneshot::Sender<()>,
}

impl HonestPage {
    /// Lets somebody enter a running server by the query of an address: the participant link `s`, or the parameters of
    /// a recruiter. The study is read from its folder, the clock shows the server's time. With `has_webrtc` they play over
    /// data channels.
    ///
    /// # Errors
    /// The study has faults, or there is no thread for the participant.
    pub fn enter(
        address: &str,
        study: &Path,
        clock: &Clock,
        query: &[(String, String)],
        seed: u64,
        has_webrtc: bool,
    ) -> anyhow::Result<Self> {
        let (study, facts) =
            read_study(study).map_err(|faults| anyhow!("the study: {faults:?}"))?;
        let hosted = read_hosted_specs(&facts);
        let study = Arc::new(study);
        let partners = models::read_partners(&study);
        let record = Shared::new(0, false, None);
        let ticket = Ticket {
            rng: Rng::of(seed, &[]),
            way: match query {
                [(name, token)] if name == "s" => EntryWay::Link(token.clone()),
                parameters => EntryWay::Sent(parameters.to_vec()),
            },
            arrives_us: clock.now_us(),
            fault: None,
            agent: None,
            record: record.clone(),
        };
        let (address, clock) = (address.to_owned(), clock.clone());
        let (stays, leaves) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let work = move || {
            let (_address, address) = watch::channel(Some(address));
            let around = SharedState {
                study: Arc::clone(&study),
                clock,
                address,
                round_trips: Arc::default(),
            };
            let info = Arc::new(StudyInfo {
                study,
                partners,
                hosted,
                has_webrtc,
            });
            let takes_part = driver::take_part(Rc::new(around), info, ticket);
            let local = LocalSet::new();
            local.block_on(&runtime, async {
                tokio::select! {
                    () = takes_part => {}
                    _ = leaves => {}
                }
            });
        };
        std::thread::Builder::new()
            .name("honest".to_owned())
            .spawn(work)?;
        Ok(Self {
            record,
            _stays: stays,
        })
    }

    /// True if they take part no more.
    pub fn is_over(&self) -> bool {
        self.record.lock().phase.is_over()
    }

    /// True if they are in an episode.
    pub fn is_playing(&self) -> bool {
        self.record.lock().phase.is_playing()
    }

    /// The reason why they cannot continue, if they are stuck.
    pub fn stuck_stage(&self) -> Option<String> {
        match &self.record.lock().phase {
            Phase::Stuck(why) => Some(why.clone()),
            _ => None,
        }
    }

    /// The outcome on their last page.
    pub fn outcome(&self) -> Option<String> {
        self.record.lock().outcome.clone()
    }

    /// The pay on their last page.
    pub fn pay(&self) -> String {
        self.record.lock().farewell.pay.clone()
    }

    /// How their packets travelled to other people, at the ends of episodes.
    pub fn link_counts(&self) -> LinkCounts {
        self.record.lock().links
    }

    /// Their events and messages, line by line.
    pub fn trace(&self) -> String {
        self.record.lock().trace.to_string()
    }
}
