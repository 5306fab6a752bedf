//! Every limit of the server, with its unit.

use std::time::Duration;

/// The rate at which something may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// At once.
    pub burst: u32,
    /// In a minute, on average.
    pub per_min: u32,
}

/// Limits. The defaults hold a study of some hundred participants on a small machine.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Pages that are connected at the same time. Further pages show that there is no place, and are closed.
    pub connections: usize,
    /// Connections of one client address at the same time, including those that fetch files. If there is one more, the
    /// connection that has been silent longest closes; if none is silent, the new one is turned away.
    pub client_connections: usize,
    /// Session sockets of one client address at the same time. Further ones get the answer that there is no place, and
    /// are closed, unless one has been silent for some time.
    pub client_pages: usize,
    /// The time that a session socket has for its first message before another one may take its place.
    pub silence: Duration,
    /// Sessions that one client address may begin; more are refused as `Full`.
    pub client_sessions: Rate,
    /// Links, tickets, tokens and identifiers of one client address that may be wrong; then its connection is closed
    /// without an answer.
    pub client_wrong_codes: Rate,
    /// Lines that pages of one client address may write into the log.
    pub client_log_lines: Rate,
    /// File descriptors that connections leave to episodes, the database and the program.
    pub reserved_files: usize,
    /// Time in which a connection must have sent the head of a request, from its opening or the previous answer; and
    /// time for the body after it.
    pub headers: Duration,
    /// Time after which a connection closes that only fetches files.
    pub fetching: Duration,
    /// Sessions that are not finished, without those that were left before they passed a first stage; further ones are
    /// refused as `Full`.
    pub sessions: usize,
    /// Time for which a session that has passed no stage counts for the balance of treatments after its page was closed. It
    /// is then forgotten.
    pub entering: Duration,
    /// The same where somebody has typed something that is not sent yet, or is at a page of another site.
    pub drafting: Duration,
    /// People who wait in one lobby at the same time.
    pub lobby: usize,
    /// Bytes of one message of a page.
    pub message_bytes: usize,
    /// Messages of one page in a second, on average; datagrams over it are dropped, and a page that sends other
    /// messages over it is closed.
    pub messages_per_s: u32,
    /// Messages of one page in a burst.
    pub messages_burst: u32,
    /// Bytes of one relayed datagram; longer ones are dropped.
    pub datagram_bytes: usize,
    /// Bytes of one WebRTC signal; longer ones are dropped.
    pub signal_bytes: usize,
    /// Signals of one page to another in an episode; more are dropped.
    pub signals: Rate,
    /// Signals of all others to one page in an episode; more are dropped.
    pub signals_heard: Rate,
    /// Uploads of one page that the archive has not yet taken; more are dropped, and asked for again later.
    pub uploads: usize,
    /// Bytes of notes of the pages of one seat in an episode: in one go, and in each second in addition. Notes beyond
    /// that are not stored. A page writes a few hundred bytes a second.
    pub note_bytes: usize,
    /// See [`Self::note_bytes`].
    pub note_bytes_per_s: usize,
    /// Messages that wait for a slow page; one more, and it is closed.
    pub outgoing: usize,
    /// Messages that wait for a slow page at which relayed datagrams are dropped.
    pub outgoing_relay: usize,
    /// Bytes of one answer: more than the longest text that a study takes has as JSON.
    pub answer_bytes: usize,
    /// Answers of one survey.
    pub answers: usize,
    /// Bytes of a stage's draft; larger drafts are not stored before the stage is done.
    pub draft_bytes: usize,
    /// Messages of one person to their group at one visit; more are not taken.
    pub chat_messages: u32,
    /// Messages of one person to the researchers; more are not taken.
    pub desk_messages: u32,
    /// Time until the first message.
    pub hello_timeout: Duration,
    /// Time that a page has to take its last messages when its connection is closed.
    pub close_grace: Duration,
    /// Time between pings; a page that is silent for three of them is closed.
    pub ping: Duration,
    /// Time from a match until every page is ready to play.
    pub ready: Duration,
    /// Time from the last page being ready to tick 0.
    pub countdown: Duration,
    /// Matches that a page may fail to get ready for, until its participant moves on.
    pub attempts: u8,
    /// The longest absence that still counts as time of the visit.
    pub counted_absence_max: Duration,
    /// Time that the other pages have to upload their last rows once one page has uploaded the end.
    pub final_upload_window: Duration,
    /// Time without a new archived tick after which an episode ends as technical.
    pub no_progress_end_after: Duration,
    /// Time for the first page to come back to an episode after a restart of the server.
    pub restart: Duration,
    /// The most proofs of a page in an episode that somebody sent it something else than the server.
    pub recounts: usize,
    /// Time without a new input of a page that keeps others waiting until it gets theirs from the server.
    pub helped: Duration,
    /// Time without a new input of a page that keeps others waiting until it counts as gone. For a page without a
    /// connection, time without a new final tick, though nobody says that they do not hear it.
    pub no_progress_page_gone_after: Duration,
    /// The time before a tick is due at which its row may come: clocks differ.
    pub early_upload_tolerance: Duration,
    /// Changes of seats in one episode; one more, and it ends as technical.
    pub changes: usize,
    /// Times that one page may get its seat back in an episode; one that asks once more has failed.
    pub returns: u32,
    /// Times that one page may diverge from the replica, or break the protocol, in an episode; once more, and it has failed.
    pub divergences: u32,
    /// Ticks that a step of an environment on a host may take on average, over as many ticks as should take five seconds;
    /// if it takes longer, its episode ends. 0 is no limit, and there is none in turns.
    pub slow_step_ticks: u32,
    /// Time by which the clock may be ahead of everything that is known; beyond it, nothing is erased by it.
    pub clock_ahead: Duration,
    /// Times that one person comes, goes or hides in an episode; later ones are not reported to anybody.
    pub presences: usize,
    /// Paths of its datagrams that one page may report in an episode; later ones are not recorded.
    pub routes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 2_000,
            client_connections: 1_000,
            client_pages: 500,
            silence: Duration::from_secs(5),
            client_sessions: Rate {
                burst: 200,
                per_min: 100,
            },
            client_wrong_codes: Rate {
                burst: 120,
                per_min: 60,
            },
            client_log_lines: Rate {
                burst: 20,
                per_min: 10,
            },
            reserved_files: 256,
            headers: Duration::from_secs(10),
            fetching: Duration::from_mins(10),
            sessions: 10_000,
            entering: Duration::from_mins(5),
            drafting: Duration::from_hours(24),
            lobby: 500,
            message_bytes: protocol::control::MAX_MESSAGE,
            messages_per_s: 400,
            messages_burst: 800,
            datagram_bytes: 1_200,
            signal_bytes: protocol::signal::MAX_SIGNAL,
            signals: Rate {
                burst: 100,
                per_min: 300,
            },
            signals_heard: Rate {
                burst: 256,
                per_min: 1_200,
            },
            uploads: 64,
            note_bytes: 256 * 1024,
            note_bytes_per_s: 4 * 1024,
            outgoing: 512,
            outgoing_relay: 64,
            answer_bytes: 64 * 1024,
            answers: 200,
            draft_bytes: 128 * 1024,
            chat_messages: 1_000,
            desk_messages: 200,
            hello_timeout: Duration::from_secs(10),
            close_grace: Duration::from_secs(2),
            ping: Duration::from_secs(5),
            ready: Duration::from_secs(20),
            countdown: Duration::from_millis(3_500),
            attempts: 3,
            counted_absence_max: Duration::from_mins(15),
            final_upload_window: Duration::from_secs(3),
            no_progress_end_after: Duration::from_secs(60),
            restart: Duration::from_secs(60),
            recounts: 32,
            helped: Duration::from_millis(500),
            no_progress_page_gone_after: Duration::from_secs(3),
            early_upload_tolerance: Duration::from_secs(2),
            changes: 500,
            returns: 40,
            divergences: 3,
            slow_step_ticks: 4,
            clock_ahead: Duration::from_hours(400 * 24),
            presences: 2_000,
            routes: 2_000,
        }
    }
}

/// A time in microseconds.
pub(crate) fn as_us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
