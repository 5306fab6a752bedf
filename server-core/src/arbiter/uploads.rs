//! Passes uploads of pages to the archive, as far as it keeps up, and the results back.

use protocol::control::{EndReason, Recount, Refusal, ServerMessage, Upload};
use protocol::{Era, Seat};

use super::attendance::has_acted;
use super::episode::Phase;
use super::seats::Page;
use super::{Appended, Arbiter, Effect, Place, SessionId, Work};

impl Arbiter {
    /// Forwards an upload, if its ticks are due and its page plays, or played until just now. From a page that played
    /// until just now, the archive takes only the notes.
    pub(super) fn handle_upload(&mut self, now_us: u64, who: SessionId, upload: Upload) {
        let (era, limits) = (upload.era, &self.limits);
        let noop = self.find_noop(era);
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let (seat, tick_hz) = (episode.seat_of(who), episode.header.tick_hz);
        let (Phase::Playing(play), Some(seat)) = (&mut episode.phase, seat) else {
            return;
        };
        let state = &play.seats.list[seat.index()];
        let plays = state.page == Page::Plays && state.life == upload.life;
        let lost = !matches!(state.page, Page::Plays | Page::Away);
        if !play.open || !(plays || lost) || play.seats.is_changing(seat) {
            return;
        }
        let early_us = limits.early_upload_tolerance.as_micros() as u64;
        // Inputs are given ahead of their ticks.
        let ahead = u32::from(play.input_delay) + 1;
        let block = upload.block.as_ref();
        let end = block.map(|block| u64::from(block.first.0) + block.inputs.len() as u64);
        // Those of the delay itself are due with the start.
        let end = end.map(|end| end.saturating_sub(u64::from(ahead)));
        let end = end.filter(|end| *end > 0);
        let due_us = end.map(|end| play.t0_us + end * 1_000_000 / u64::from(tick_hz.max(1)));
        // Notes alone may come as soon as the pages know the start, and no turn is ever due.
        let is_early = due_us.is_some_and(|due_us| due_us > now_us + early_us);
        if is_early && !episode.header.rules.turns && !play.is_hosted() {
            return self.turn_away(now_us, who);
        }
        play.note_delay(now_us, &upload);
        if let Some(host) = &mut play.hosting {
            host.note_input(now_us);
        }
        if let (Some(note), Some(network)) = (&upload.timing, play.network.get_mut(seat.index())) {
            network.add_note(upload.life, note);
        }
        let has_room = play.has_room_for(now_us, seat, upload.timing.as_ref(), limits);
        let upload = Upload {
            timing: upload.timing.filter(|_| has_room),
            ..upload
        };
        let acts = has_acted(&upload, noop);
        let (flying, dropped) = (
            &mut play.flying[seat.index()],
            &mut play.dropped[seat.index()],
        );
        *dropped |= *flying >= limits.uploads;
        if !*dropped {
            *flying += 1;
            let work = Work::Append(seat, Box::new(upload));
            self.effects.push_back(Effect::Archive(era, work));
        }
        if acts {
            self.note_sign(now_us, who);
        }
    }

    /// Takes a page's proof that somebody sent it something else than the server; the archive checks the proof.
    pub(super) fn handle_recount(&mut self, who: SessionId, era: Era, recount: Recount) {
        let most = self.limits.recounts;
        let Some((play, by)) = self.episodes.seat_mut(era, who) else {
            return;
        };
        let state = &mut play.seats.list[by.index()];
        state.recounts += 1;
        if state.recounts <= most && state.page == Page::Plays && recount.seat != by {
            let work = Work::Recount(by, Box::new(recount));
            self.effects.push_back(Effect::Archive(era, work));
        }
    }

    /// True if the archive has not yet answered all uploads of a session's page.
    pub(super) fn is_awaited(&self, who: SessionId) -> bool {
        match self.sessions[who].place {
            Place::Episode(era, _) => self.episodes.is_awaited(era, who),
            _ => false,
        }
    }

    /// A page sends a message that no correct page sends.
    fn turn_away(&mut self, now_us: u64, who: SessionId) {
        if let Some(conn) = self.sessions[who].conn {
            tracing::warn!("an upload is malformed");
            self.handle_closed(now_us, conn);
            self.refuse_page(conn, Refusal::Malformed);
            self.note_fault(now_us, who);
        }
    }

    /// The archive has seen an upload.
    pub(super) fn handle_appended(
        &mut self,
        now_us: u64,
        era: Era,
        seat: Seat,
        appended: Appended,
    ) {
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let (who, tick_hz) = (episode.session_at(seat), episode.header.tick_hz);
        let Phase::Playing(play) = &mut episode.phase else {
            return;
        };
        let flying = &mut play.flying[seat.index()];
        *flying = flying.saturating_sub(1);
        let is_durable = matches!(appended, Appended::Durable { .. });
        let again = *flying == 0 && std::mem::take(&mut play.dropped[seat.index()]);
        match appended {
            Appended::Durable {
                through,
                own,
                over,
                last,
                notes,
                agreed,
                recheck,
                diverged,
            } => {
                play.record_through(now_us, through);
                play.seats.handle_own(now_us, seat, own, tick_hz);
                play.finished[seat.index()] |= last;
                if over {
                    let closing_us = now_us + self.limits.final_upload_window.as_micros() as u64;
                    play.closing_us.get_or_insert(closing_us);
                }
                let archived = ServerMessage::Archived {
                    era,
                    through,
                    own,
                    agreed,
                    notes,
                };
                let asked = &mut play.seats.list[seat.index()].recheck;
                if recheck.is_some_and(|number| asked.replace(number) != Some(number)) {
                    let work = Work::Recheck(seat);
                    self.effects.push_back(Effect::Archive(era, work));
                }
                if diverged {
                    self.handle_diverged(now_us, era, seat);
                } else if again {
                    self.tell_running(era, seat);
                } else {
                    self.tell_player(era, seat, archived);
                }
            }
            Appended::Gap(_) => self.tell_running(era, seat),
            Appended::Malformed => who.into_iter().for_each(|who| self.turn_away(now_us, who)),
            Appended::Failed => self.end_episode(era, EndReason::Technical),
        }
        if is_durable {
            self.pass_inputs(now_us, era, seat);
        }
        if let Some(who) = who.filter(|_| is_durable && !again) {
            self.let_go(now_us, who);
        }
    }
}
