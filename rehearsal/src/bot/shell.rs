//! The shell of the page: does what the page asks for, and lets the person see what it shows.

use client_core::{Credentials, PageEffect, PageEvent, StopReason};
use protocol::control::Refusal;

use super::tab::Tab;
use super::{Bot, BotEffect, S, WireId};
use crate::fault::Fault;
use crate::hands::Native;

impl Bot {
    pub(super) fn open_tab(&mut self, now_us: u64) {
        let credentials = Credentials {
            ticket: self.ticket.take(),
            session: self.token.clone(),
            ..self.way.credentials()
        };
        self.tabs += 1;
        let seed = self.rng.draw_bits();
        self.tab = Some(Tab::new(now_us, self.tabs, credentials, seed));
    }

    /// Does what the page asks for, and lets the person see what it shows, until nothing is left.
    pub(super) fn drain(&mut self, now_us: u64) -> Result<(), String> {
        while let Some(tab) = &mut self.tab {
            if let Some(effect) = tab.page.poll_effect() {
                self.perform(now_us, effect)?;
            } else if let Some(event) = tab.page.poll_event() {
                self.see(now_us, event)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    fn perform(&mut self, now_us: u64, effect: PageEffect) -> Result<(), String> {
        let Some(tab) = &mut self.tab else {
            return Ok(());
        };
        match effect {
            PageEffect::OpenSocket(socket) if self.offline_us.is_some() => {
                tab.call_page(now_us, |page, at_us| {
                    page.handle_socket_closed(at_us, socket)
                });
            }
            PageEffect::OpenSocket(socket) => {
                self.wires += 1;
                let wire = WireId(self.wires);
                tab.wire = Some((socket, wire));
                self.effects.push_back(BotEffect::Open(wire));
            }
            PageEffect::CloseSocket => {
                if let Some((_, wire)) = tab.wire.take() {
                    self.effects.push_back(BotEffect::Close(wire));
                }
                self.late.clear();
            }
            PageEffect::Send(message) => self.send(now_us, message),
            PageEffect::OpenChannel { .. }
            | PageEffect::Datagram { .. }
            | PageEffect::CloseChannel { .. }
            | PageEffect::Signal { .. } => self.use_channel(now_us, effect),
            PageEffect::LoadWorld(era) => {
                let plan = tab.page.peer().map(|peer| peer.plan().clone());
                if let Some(plan) = plan.filter(|plan| plan.era == era) {
                    let world = self.open_world(&plan)?;
                    let partners = self.info.partners.clone();
                    if let Some(tab) = &mut self.tab {
                        tab.call_page(now_us, |page, at_us| {
                            page.handle_world(at_us, era, world, partners);
                        });
                    }
                }
            }
            PageEffect::RememberSession(session) => {
                if session.is_some() {
                    self.record.lock().token.clone_from(&session);
                }
                self.token = session;
            }
        }
        Ok(())
    }

    /// Carries out the effects of the first of two tabs, until the server closes that tab.
    pub(super) fn drain_old(&mut self, now_us: u64) {
        while let Some((tab, _)) = &mut self.old {
            let wire = tab.wire.map(|(_, wire)| wire);
            match (tab.page.poll_effect(), wire) {
                (Some(PageEffect::Send(message)), Some(wire)) => {
                    self.record.lock().trace.note_sent(now_us, &message);
                    self.effects.push_back(BotEffect::Send(wire, message));
                }
                (Some(PageEffect::CloseSocket), wire) => {
                    self.effects.extend(wire.map(BotEffect::Close));
                    self.old = None;
                }
                (Some(_), _) => {}
                (None, _) => {
                    if tab.page.poll_event().is_none() {
                        break;
                    }
                }
            }
        }
    }

    fn see(&mut self, now_us: u64, event: PageEvent<Native>) -> Result<(), String> {
        match event {
            PageEvent::Welcomed { .. } => {
                self.record.lock().began_us.get_or_insert(now_us);
                self.expect_after_done(now_us);
            }
            PageEvent::Stopped(why) => self.handle_stop(now_us, why)?,
            PageEvent::Garbled(error) => self.handle_garbled(&error),
            PageEvent::StageShown { .. } => self.handle_stage(now_us)?,
            PageEvent::NotTaken => self.handle_not_taken(now_us),
            PageEvent::Waiting(waiting) => self.wait_before(now_us, waiting.ask),
            PageEvent::EpisodeBegan { .. } => self.handle_episode(now_us),
            PageEvent::Judged(verdict) => self.handle_verdict(now_us, verdict),
            PageEvent::EpisodeLeft(_) => self.leave_channels(),
            PageEvent::ConnectionLost { .. }
            | PageEvent::ServerStopping
            | PageEvent::Missing { .. }
            | PageEvent::PresenceChanged { .. }
            | PageEvent::SeatsChanged(_)
            | PageEvent::ButtonsChanged
            | PageEvent::TypedRestored(_)
            | PageEvent::ClockAnswered { .. } => {}
        }
        Ok(())
    }

    /// Handles that the page cannot continue.
    fn handle_stop(&mut self, now_us: u64, why: StopReason) -> Result<(), String> {
        match why {
            StopReason::Refused(Refusal::Malformed | Refusal::OldPage)
                if self.fault == Some(Fault::Malformed) && self.mishaps > 0 =>
            {
                self.note(now_us, "the server refuses the page, which is loaded again");
                self.reload_page(now_us, now_us + 2 * S);
                Ok(())
            }
            StopReason::Refused(why) => Err(format!("refused: {why:?}")),
            StopReason::Superseded => Err("this page is superseded by none of ours".to_owned()),
            StopReason::Preview { .. } => Err("the page only shows a preview".to_owned()),
        }
    }
}
