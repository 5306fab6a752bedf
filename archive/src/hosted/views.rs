//! Views and meanings of points, for the pages of an episode on a host.

use env_core::Action;
use protocol::Seat;
use protocol::control::{HostView, MAX_MESSAGE};
use protocol::log::Record;
use server_core::arbiter::{PointOrder, ViewOrder};

use crate::Episode;

/// The least time between two descriptions in words, seconds of ticks.
const WORDS_S: u32 = 1;

/// The most bytes of views of a seat's page that an episode stores.
const MAX_VIEWS_LEN: usize = 512 << 20;

impl Episode {
    /// The action that a point on the last picture of a seat's page means.
    pub(super) fn point(&mut self, order: &PointOrder) -> (Seat, u32, Option<Action>) {
        let (seat, is_over) = (order.seat, self.ending_so_far().is_some());
        let (hosted, replica) = self.hosted();
        let at = hosted.seats[seat.index()].viewer.point_of(order.at);
        let meant = (!is_over).then(|| replica.world().point(seat.index(), at));
        let actions = replica.spec().actions.len();
        let meant = meant.flatten();
        let meant = meant.filter(|action| usize::from(*action) < actions);
        (seat, order.number, meant)
    }

    pub(super) fn view(&mut self, order: &ViewOrder, tells_rewards: bool) -> HostView {
        let (seat, is_new) = (order.seat, order.is_new);
        let (tick, over) = (self.recorded_through(), self.ending_so_far().is_some());
        let each = WORDS_S * u32::from(self.header.tick_hz.max(1));
        let turns = self.header.rules.turns;
        let (hosted, replica) = self.hosted();
        let page = &mut hosted.seats[seat.index()];
        if is_new {
            page.viewer.forget();
            page.told = None;
        }
        page.viewer.fit(order.size);
        let tells = turns || over || page.told.is_none_or(|told| told.0 + each <= tick.0);
        if tells {
            page.told = Some(tick);
        }
        let sums: &[f64] = if tells_rewards {
            replica.reward_sums()
        } else {
            &[]
        };
        page.viewer.tell_rewards(sums);
        let bytes = page.viewer.view(replica.world(), seat.index(), tells);
        let entered = std::mem::take(&mut page.entered);
        let first = page.first;
        page.first += entered.len() as u32;
        HostView {
            tick,
            entered,
            first,
            over,
            bytes,
            ..HostView::default()
        }
    }

    /// Keeps what pages are shown, for a world that does not repeat itself.
    pub(super) fn keep_views(&mut self, views: &[(Seat, HostView)]) {
        let (hosted, _) = self.hosted();
        for (seat, view) in views {
            let page = &mut hosted.seats[seat.index()];
            page.kept += view.bytes.len();
            // A page could not take a longer one.
            if page.kept <= MAX_VIEWS_LEN && view.bytes.len() <= MAX_MESSAGE {
                hosted.fresh.views.push(Record::Viewed {
                    seat: *seat,
                    tick: view.tick,
                    bytes: view.bytes.clone(),
                });
            }
        }
    }

    pub(super) fn partial_views(&self) -> Vec<Seat> {
        let pages = self.hosted.iter().flat_map(|hosted| &hosted.seats);
        let pages = (0..).map(Seat).zip(pages);
        pages
            .filter_map(|(seat, page)| page.viewer.is_partial().then_some(seat))
            .collect()
    }
}
