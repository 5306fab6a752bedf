//! The state that all pages share, and their arrival.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{Instant, sleep_until};

use crate::page::{LoadPage, PageEnd};
use crate::switchboard::Switchboard;
use crate::tally::Tally;

/// How often it is measured how late this process is.
const LAG_EACH: Duration = Duration::from_millis(5);

/// The state that all pages share.
#[derive(Debug)]
pub(crate) struct Crowd {
    /// The address of the server.
    pub(crate) address: SocketAddr,
    /// True if datagrams go from page to page; otherwise all go through the server.
    pub(crate) is_direct: bool,
    /// The data channels.
    pub(crate) switchboard: Switchboard,
    /// The counts.
    pub(crate) tally: RefCell<Tally>,
    /// How late the timers of this process were, while it is measured.
    pub(crate) lags: RefCell<Vec<Duration>>,
    began: Instant,
}

impl Crowd {
    /// A crowd that begins now.
    pub(crate) fn new(address: SocketAddr, is_direct: bool) -> Rc<Self> {
        Rc::new(Self {
            address,
            is_direct,
            switchboard: Switchboard::default(),
            tally: RefCell::default(),
            lags: RefCell::default(),
            began: Instant::now(),
        })
    }

    /// The clock of all pages, microseconds.
    pub(crate) fn now_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// When the clock of the pages shows this.
    pub(crate) fn instant_of(&self, at_us: u64) -> Instant {
        self.began + Duration::from_micros(at_us)
    }

    /// Lets pages come, this many in a second.
    pub(crate) fn arrive(self: &Rc<Self>, pages: usize, per_s: f64) -> Vec<JoinHandle<()>> {
        let start_us = self.now_us();
        let arrive = |number: usize| {
            let crowd = Rc::clone(self);
            let at_us = start_us + (number as f64 / per_s * 1e6) as u64;
            spawn_local(async move {
                sleep_until(crowd.instant_of(at_us)).await;
                let end = LoadPage::new(number, Rc::clone(&crowd)).take_part().await;
                let mut tally = crowd.tally.borrow_mut();
                match end {
                    PageEnd::Over => tally.over += 1,
                    PageEnd::Refused(why) => *tally.refused.entry(why).or_default() += 1,
                    PageEnd::Failed(why) => tally.failures.push(why),
                }
            })
        };
        (0..pages).map(arrive).collect()
    }

    /// One page more, which has to leave before anybody has played.
    pub(crate) async fn knock(self: &Rc<Self>, number: usize, within: Duration) -> Option<PageEnd> {
        let page = LoadPage::new(number, Rc::clone(self));
        tokio::time::timeout(within, page.take_part()).await.ok()
    }

    /// Measures how late the timers of this process are, for ever.
    pub(crate) async fn measure_lag(self: Rc<Self>) {
        loop {
            let asked = Instant::now();
            tokio::time::sleep(LAG_EACH).await;
            let late = asked.elapsed().saturating_sub(LAG_EACH);
            self.lags.borrow_mut().push(late);
        }
    }
}
