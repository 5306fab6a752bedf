//! Passes uploads of pages to the archive, as far as it keeps up, and the results back.

use protocol::control::{EndReason, Refusal, ServerMessage, Upload};
use protocol::{Era, Seat};

use super::attendance::has_acted;
use super::episode::Phase;
use super::seats::Page;
use super::{Appended, Arbiter, Effect, Place, SessionId, Work};

impl Arbiter {
    /// Passes an upload on, if its ticks are due and its page plays, or played until just now: of the latter the
    /// archive takes only the notes.
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
        let early_us = limits.early.as_micros() as u64;
        let rows = upload.rows.len() / play.seats.list.len();
        let end = u64::from(upload.first.0) + rows as u64;
        let due_us = play.t0_us + end * 1_000_000 / u64::from(tick_hz.max(1));
        // Notes alone may come as soon as the start is told, and no turn is ever due.
        if rows > 0 && !episode.header.rules.turns && due_us > now_us + early_us {
            return self.turn_away(now_us, who);
        }
        play.note_delay(now_us, &upload);
        let acts = has_acted(&upload, seat, play.seats.list.len(), noop);
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

    /// True if the archive has yet to answer uploads of a session's page.
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
        let who = episode.session_at(seat);
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
                over,
                last,
                notes,
                diverged,
            } => {
                play.record_through(now_us, through);
                play.finished[seat.index()] |= last;
                if over {
                    let closing_us = now_us + self.limits.closing.as_micros() as u64;
                    play.closing_us.get_or_insert(closing_us);
                }
                let archived = ServerMessage::Archived {
                    era,
                    through,
                    notes,
                };
                match () {
                    () if diverged => self.handle_diverged(now_us, era, seat),
                    () if again => self.tell_running(era, seat),
                    () => self.tell_player(era, seat, archived),
                }
            }
            Appended::Gap(_) => self.tell_running(era, seat),
            Appended::Malformed => who.into_iter().for_each(|who| self.turn_away(now_us, who)),
            Appended::Failed => self.end_episode(era, EndReason::Technical),
        }
        if let Some(who) = who.filter(|_| is_durable && !again) {
            self.let_go(now_us, who);
        }
    }
}
