//! Drives one bot over real sockets.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client_core::PageEffect;
use data_channels::{ChannelNews, ChannelRules, ChannelSet};
use protocol::Seat;
use protocol::control::{self, ClientMessage, ServerMessage};
use tokio_tungstenite::tungstenite::Message;

use super::shared_state::SharedState;
use super::wire::{News, Wire};
use crate::bot::{Bot, BotEffect, RawFrame, StudyInfo, Ticket, WireId};

/// The shortest time of the machine before a bot that waits without success counts as stuck: the machine may only be
/// slow.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a bot is looked at, at least, microseconds of the study.
const LOOKS_US: u64 = 2_000_000;

/// A bot, its sockets, and its requests for the time.
struct Driver {
    around: Rc<SharedState>,
    bot: Bot,
    wires: Vec<(WireId, Wire)>,
    /// The data channels of the episode on its page.
    channels: Option<ChannelSet>,
    /// Requests for the time: when they were sent, by the clocks of page and machine.
    asked: VecDeque<(u64, u64)>,
    /// The wait that is overdue, and since when by the machine.
    overdue: Option<(u64, Instant)>,
}

/// Makes a bot take part, from its arrival to its end.
pub(super) async fn take_part(around: Rc<SharedState>, info: Arc<StudyInfo>, ticket: Ticket) {
    around.clock.sleep_until(ticket.arrives_us).await;
    let bot = Bot::new(around.clock.now_us(), info, ticket);
    let mut driver = Driver {
        around,
        bot,
        wires: Vec::new(),
        channels: None,
        asked: VecDeque::new(),
        overdue: None,
    };
    driver.run().await;
}

impl Driver {
    async fn run(&mut self) {
        loop {
            let now_us = self.now_us();
            let is_up = self.around.address.borrow().is_some();
            self.bot.handle_server(now_us, is_up);
            self.bot.handle_timeout(now_us);
            self.look_at_deadline(now_us);
            self.carry_out();
            let Some((due_us, _)) = self.bot.poll_timeout(now_us) else {
                return;
            };
            let wake_us = due_us.clamp(now_us + 1_000, now_us + LOOKS_US);
            let clock = self.around.clock.clone();
            tokio::select! {
                (wire, news) = next(&mut self.wires) => self.hear(wire, news),
                (seat, news) = next_of_channels(&mut self.channels) => {
                    let now_us = self.now_us();
                    self.bot.handle_channel(now_us, seat, news);
                }
                () = clock.sleep_until(wake_us) => {}
            }
        }
    }

    /// Now, by the server's clock.
    fn now_us(&self) -> u64 {
        self.around.clock.now_us()
    }

    /// Ends a bot that has waited too long by the clocks of both the study and the machine.
    fn look_at_deadline(&mut self, now_us: u64) {
        let Some((number, what)) = self.bot.overdue_stage(now_us) else {
            self.overdue = None;
            return;
        };
        let known = self.overdue.filter(|(known, _)| *known == number);
        let (_, since) = *self
            .overdue
            .insert(known.unwrap_or((number, Instant::now())));
        if since.elapsed() > PATIENCE {
            self.bot.give_up(format!("waited in vain {what}"));
        }
    }

    /// Does what the bot asks for.
    fn carry_out(&mut self) {
        while let Some(effect) = self.bot.poll_effect() {
            match effect {
                BotEffect::Open(wire) => {
                    let address = self.around.address.borrow().clone();
                    match address {
                        Some(address) => self.wires.push((wire, Wire::dial(&address))),
                        None => self.bot.handle_closed(self.now_us(), wire),
                    }
                }
                BotEffect::Send(wire, message) => {
                    if let ClientMessage::Clock { sent_us } = message {
                        let machine_us = self.around.clock.machine_us();
                        self.asked.push_back((sent_us, machine_us));
                    }
                    let bytes = control::encode(&message);
                    self.send(wire, Message::Binary(bytes.into()));
                }
                BotEffect::SendRaw(wire, RawFrame::Binary(bytes)) => {
                    self.send(wire, Message::Binary(bytes.into()));
                }
                BotEffect::SendRaw(wire, RawFrame::Text(text)) => {
                    self.send(wire, Message::Text(text.into()));
                }
                // A wire that is dropped sends its queue and closes.
                BotEffect::Close(wire) => drop(self.take(wire)),
                BotEffect::Cut(wire) => {
                    if let Some(wire) = self.take(wire) {
                        wire.cut_wire();
                    }
                }
                BotEffect::OpenChannels(rules) => self.open_channels(rules),
                BotEffect::CloseChannels => self.channels = None,
                BotEffect::Channel(effect) => self.use_channel(effect),
            }
        }
    }

    /// Begins to build channels: on this machine alone if the server is on it, and else on every other interface.
    fn open_channels(&mut self, rules: ChannelRules) {
        let address = self.around.address.borrow();
        let server = address
            .as_ref()
            .and_then(|at| at.parse::<SocketAddr>().ok());
        let is_far = server.is_some_and(|server| !server.ip().is_loopback());
        let ip = match is_far {
            true => Ipv4Addr::UNSPECIFIED,
            false => Ipv4Addr::LOCALHOST,
        };
        self.channels = Some(ChannelSet::new(rules, IpAddr::V4(ip)));
    }

    fn use_channel(&mut self, effect: PageEffect) {
        let Some(channels) = &mut self.channels else {
            return;
        };
        match effect {
            PageEffect::Datagram { to, bytes } => channels.send(to, bytes),
            PageEffect::OpenChannel { seat } => channels.connect(seat),
            PageEffect::CloseChannel { seat } => channels.close(seat),
            PageEffect::Signal { from, data } => channels.handle_signal(from, &data),
            _ => {}
        }
    }

    fn send(&self, wire: WireId, frame: Message) {
        let mut wires = self.wires.iter();
        if let Some((_, wire)) = wires.find(|(own, _)| *own == wire) {
            wire.send(frame);
        }
    }

    fn take(&mut self, wire: WireId) -> Option<Wire> {
        let at = self.wires.iter().position(|(own, _)| *own == wire)?;
        Some(self.wires.swap_remove(at).1)
    }

    fn hear(&mut self, wire: WireId, news: News) {
        let now_us = self.now_us();
        match news {
            News::Open => self.bot.handle_opened(now_us, wire),
            News::Message(message) => {
                if let ServerMessage::Clock { sent_us, .. } = message {
                    self.note_round_trip(sent_us);
                }
                self.bot.handle_message(now_us, wire, message);
            }
            News::Garbled(error) => self.bot.handle_garbled(&error),
            News::Closed => {
                drop(self.take(wire));
                self.asked.clear();
                self.bot.handle_closed(now_us, wire);
            }
        }
        self.carry_out();
    }

    fn note_round_trip(&mut self, sent_us: u64) {
        let machine_us = self.around.clock.machine_us();
        while let Some((of_us, began_us)) = self.asked.pop_front() {
            if of_us == sent_us {
                let mut all = self
                    .around
                    .round_trips
                    .lock()
                    .unwrap_or_else(|all| all.into_inner());
                return all.push(machine_us - began_us);
            }
        }
    }
}

/// The next event of any of the connections.
async fn next(wires: &mut [(WireId, Wire)]) -> (WireId, News) {
    std::future::poll_fn(|context| {
        for (number, wire) in wires.iter_mut() {
            if let std::task::Poll::Ready(news) = wire.poll_news(context) {
                return std::task::Poll::Ready((*number, news));
            }
        }
        std::task::Poll::Pending
    })
    .await
}

/// The next news of any of the data channels.
async fn next_of_channels(channels: &mut Option<ChannelSet>) -> (Seat, ChannelNews) {
    std::future::poll_fn(|context| match channels {
        Some(channels) => channels.poll_news(context),
        None => std::task::Poll::Pending,
    })
    .await
}
