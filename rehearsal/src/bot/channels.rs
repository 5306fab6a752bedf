//! The data channels of a tab, which its driver has if it has WebRTC.

use client_core::{PageEffect, Peer};
use data_channels::{ChannelNews, ChannelRules};
use protocol::control::{ClientMessage, Link};
use protocol::{EnvWay, Seat};

use super::episode::Way;
use super::{Bot, BotEffect};

impl Bot {
    /// Lets the driver do what the page asks of a data channel. Without WebRTC, none opens: packets go through the
    /// server.
    pub(super) fn use_channel(&mut self, now_us: u64, effect: PageEffect) {
        let Some(tab) = &mut self.tab else { return };
        if let PageEffect::OpenChannel { seat } = effect {
            let plan = tab.page.peer().map(Peer::plan);
            // Pages of a host have nothing to send each other.
            let plan = plan.filter(|plan| plan.way == EnvWay::Module && self.info.has_webrtc);
            let Some(plan) = plan else {
                return tab.call_page(now_us, |page, at_us| {
                    page.handle_channel(at_us, seat, false)
                });
            };
            let rules = ChannelRules {
                own: plan.seat,
                ice: plan.ice.clone(),
                relay_only: plan.relay_only,
            };
            let wanted = Some((plan.era, rules));
            if tab.channels != wanted {
                tab.relayed.clear();
                tab.channels = wanted.clone();
                let opened = wanted.map(|(_, rules)| BotEffect::OpenChannels(rules));
                self.effects.extend(opened);
            }
        }
        match effect {
            PageEffect::Datagram { .. } if self.offline_us.is_some() => {}
            PageEffect::Datagram { to, bytes } if self.late.is_slow => {
                let way = Way::Out(Link::Direct, to, bytes);
                self.late.take(now_us, way, &mut self.rng);
            }
            effect => self.effects.push_back(BotEffect::Channel(effect)),
        }
    }

    /// There is news of the data channel to a seat.
    pub(crate) fn handle_channel(&mut self, now_us: u64, seat: Seat, news: ChannelNews) {
        self.guard(|bot| {
            bot.take_channel_news(now_us, seat, news);
            bot.drain(now_us)?;
            Ok(None)
        });
    }

    fn take_channel_news(&mut self, now_us: u64, seat: Seat, news: ChannelNews) {
        let Some(tab) = &mut self.tab else { return };
        match news {
            ChannelNews::Begun => tab.call_page(now_us, |page, at_us| {
                page.handle_channel_begun(at_us, seat);
            }),
            ChannelNews::Opened { is_relayed } => {
                tab.relayed.remove(&seat);
                tab.relayed.extend(is_relayed.then_some(seat));
                tab.call_page(now_us, |page, at_us| page.handle_channel(at_us, seat, true));
            }
            ChannelNews::Closed => tab.call_page(now_us, |page, at_us| {
                page.handle_channel(at_us, seat, false);
            }),
            ChannelNews::Datagram(_) if self.offline_us.is_some() => {}
            ChannelNews::Datagram(bytes) if self.late.is_slow => {
                let way = Way::In(Link::Direct, seat, bytes);
                self.late.take(now_us, way, &mut self.rng);
            }
            ChannelNews::Datagram(bytes) => tab.call_page(now_us, |page, at_us| {
                page.handle_datagram(at_us, seat, &bytes);
            }),
            ChannelNews::Signal(data) => tab.page.send(ClientMessage::Signal { to: seat, data }),
        }
    }

    /// Closes the data channels of an episode that left the page, unless another one has come.
    pub(super) fn leave_channels(&mut self) {
        let page = self.tab.as_ref().map(|tab| &tab.page);
        if page.is_some_and(|page| page.peer().is_none()) {
            self.close_channels();
        }
    }

    /// Closes the data channels of the tab.
    pub(super) fn close_channels(&mut self) {
        let channels = self.tab.as_mut().and_then(|tab| tab.channels.take());
        let closed = channels.map(|_| BotEffect::CloseChannels);
        self.effects.extend(closed);
    }

    /// Remembers how packets travel to each other person while the episode runs: at its end, the server closes its way
    /// through TURN.
    pub(super) fn note_links(&mut self) {
        let Some(tab) = &mut self.tab else { return };
        let Some(peer) = tab.page.peer() else { return };
        let runs = (peer.session()).is_some_and(|session| session.ended().is_none());
        if !self.info.has_webrtc || !runs {
            return;
        }
        let seats = (0..peer.plan().controllers.len()).map(|seat| Seat(seat as u8));
        let link = |seat| Some((seat, peer.link_to(seat)?));
        tab.links = seats.filter_map(link).collect();
    }

    /// Counts how packets travelled to each other person of the episode on the page.
    pub(super) fn count_links(&mut self) {
        let Some(tab) = &mut self.tab else { return };
        let mut record = self.record.lock();
        let counts = &mut record.links;
        for (seat, link) in std::mem::take(&mut tab.links) {
            match link {
                Link::Direct if tab.relayed.contains(&seat) => counts.turn += 1,
                Link::Direct => counts.direct += 1,
                Link::Relay => counts.relay += 1,
            }
        }
    }
}
