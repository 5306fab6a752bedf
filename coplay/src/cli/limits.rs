//! The limits of a server that the command line can set.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use server_core::limits::{Limits, Rate};

/// Limits of a server. Those of an address hold for one IPv4 address, or the first 64 bits of an IPv6 address; addresses
/// are kept in memory only.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Pages that are connected at once.
    #[arg(long, value_name = "NUMBER", default_value_t = usual().connections)]
    pub max_pages: usize,
    /// Unfinished sessions, without those whose page was closed in the first stage.
    #[arg(long, value_name = "NUMBER", default_value_t = usual().sessions)]
    pub max_sessions: usize,
    /// Minutes for which a session counts for the balance of treatments if its page was closed in the first stage.
    #[arg(long, value_name = "MINUTES", default_value_t = minutes(usual().entering))]
    pub entering_minutes: NonZeroU32,
    /// Hours for which it counts if something was typed that is not sent yet, or its page is on another site.
    #[arg(long, value_name = "HOURS", default_value_t = hours(usual().drafting))]
    pub drafting_hours: NonZeroU32,
    /// Connections of one address at once. If there are more, the longest silent one is closed.
    #[arg(long, value_name = "NUMBER", default_value_t = usual().client_connections)]
    pub address_connections: usize,
    /// Pages of one address that are connected at once.
    #[arg(long, value_name = "NUMBER", default_value_t = usual().client_pages)]
    pub address_pages: usize,
    /// New sessions of one address without a participant link: at most NUMBER per minute on average, twice as many at once.
    #[arg(long, value_name = "NUMBER", default_value_t = per_min(usual().client_sessions))]
    pub address_sessions: NonZeroU32,
    /// Wrong links and identifiers from one address: at most NUMBER per minute on average, twice as many at once; further
    /// ones get no answer.
    #[arg(long, value_name = "NUMBER", default_value_t = per_min(usual().client_wrong_codes))]
    pub address_wrong_codes: NonZeroU32,
    /// Log lines by pages of one address: at most NUMBER per minute on average, twice as many at once.
    #[arg(long, value_name = "NUMBER", default_value_t = per_min(usual().client_log_lines))]
    pub address_log_lines: NonZeroU32,
    /// People who wait in one lobby at once.
    #[arg(long, value_name = "NUMBER", default_value_t = usual().lobby)]
    pub lobby_people: usize,
    /// Messages of one page: at most NUMBER per second on average, twice as many at once. Further game packets are dropped;
    /// a page that sends too many other messages is disconnected.
    #[arg(long, value_name = "NUMBER", default_value_t = positive(usual().messages_per_s.into()))]
    pub page_messages: NonZeroU32,
    /// Signals of one page to another in a minute of an episode, on average; a third of them at once. More are dropped.
    #[arg(long, value_name = "NUMBER", default_value_t = per_min(usual().signals))]
    pub page_signals: NonZeroU32,
    /// Signals of all others to one page in a minute of an episode, on average; 256 at once. More are dropped.
    #[arg(long, value_name = "NUMBER", default_value_t = per_min(usual().signals_heard))]
    pub page_signals_heard: NonZeroU32,
    /// Uploads of one page that wait for the disk. Further ones are dropped, and asked for again later.
    #[arg(long, value_name = "NUMBER", default_value_t = positive(usual().uploads as u64))]
    pub page_uploads: NonZeroU32,
    /// Times that one page may get its seat back in an episode. If it asks again, it counts as failed.
    #[arg(long, value_name = "NUMBER", default_value_t = usual().returns)]
    pub page_returns: u32,
    /// Times that one page may compute another state than the server, or break the protocol, in an episode. Once more, and
    /// it counts as failed.
    #[arg(long, value_name = "NUMBER", default_value_t = usual().divergences)]
    pub page_divergences: u32,
    /// Ticks that a step of an environment on a host may take on average, over as many ticks as should take five seconds.
    /// If it takes longer, its episode ends; 0 is no limit. There is none in turns.
    #[arg(long, value_name = "TICKS", default_value_t = usual().slow_step_ticks)]
    pub slow_step_ticks: u32,
    /// Bytes of timing and network notes stored per person and second of an episode; 64 times as many at once.
    #[arg(long, value_name = "NUMBER", default_value_t = usual().note_bytes_per_s)]
    pub note_bytes: usize,
    /// Seconds until the head of a request must be complete, and again until its body must be.
    #[arg(long, value_name = "SECONDS", default_value_t = seconds(usual().headers))]
    pub header_timeout: NonZeroU32,
    /// Seconds until the first message of a page must be complete.
    #[arg(long, value_name = "SECONDS", default_value_t = seconds(usual().hello_timeout))]
    pub hello_timeout: NonZeroU32,
    /// Seconds without a first message until a connection can lose its place to another one.
    #[arg(long, value_name = "SECONDS", default_value_t = seconds(usual().silence))]
    pub silent_timeout: NonZeroU32,
    /// Seconds without an answer until a page counts as gone.
    #[arg(long, value_name = "SECONDS", default_value_t = seconds(usual().ping * 3))]
    pub idle_timeout: NonZeroU32,
    /// Seconds until a connection that only fetches files is closed.
    #[arg(long, value_name = "SECONDS", default_value_t = seconds(usual().fetching))]
    pub fetch_timeout: NonZeroU32,
    /// File descriptors reserved for episodes and the database.
    #[arg(long, value_name = "NUMBER", default_value_t = usual().reserved_files)]
    pub reserved_files: usize,
}

impl LimitArgs {
    /// The limits of the server.
    pub fn limits(&self) -> Limits {
        let rate = |per_min: NonZeroU32| Rate {
            burst: per_min.get().saturating_mul(2),
            per_min: per_min.get(),
        };
        let time = |seconds: NonZeroU32| Duration::from_secs(seconds.get().into());
        Limits {
            connections: self.max_pages,
            sessions: self.max_sessions,
            entering: time(self.entering_minutes) * 60,
            drafting: time(self.drafting_hours) * 3_600,
            client_connections: self.address_connections,
            client_pages: self.address_pages,
            client_sessions: rate(self.address_sessions),
            client_wrong_codes: rate(self.address_wrong_codes),
            client_log_lines: rate(self.address_log_lines),
            lobby: self.lobby_people,
            messages_per_s: self.page_messages.get(),
            messages_burst: self.page_messages.get().saturating_mul(2),
            signals: Rate {
                burst: self.page_signals.get().div_ceil(3),
                per_min: self.page_signals.get(),
            },
            signals_heard: Rate {
                burst: (usual().signals_heard.burst).min(self.page_signals_heard.get()),
                per_min: self.page_signals_heard.get(),
            },
            uploads: usize::try_from(self.page_uploads.get()).unwrap_or(usize::MAX),
            returns: self.page_returns,
            divergences: self.page_divergences,
            slow_step_ticks: self.slow_step_ticks,
            note_bytes: self.note_bytes.saturating_mul(64),
            note_bytes_per_s: self.note_bytes,
            headers: time(self.header_timeout),
            hello_timeout: time(self.hello_timeout),
            silence: time(self.silent_timeout),
            ping: time(self.idle_timeout) / 3,
            fetching: time(self.fetch_timeout),
            reserved_files: self.reserved_files,
            ..Limits::default()
        }
    }
}

fn usual() -> Limits {
    Limits::default()
}

fn per_min(rate: Rate) -> NonZeroU32 {
    positive(rate.per_min.into())
}

fn seconds(time: Duration) -> NonZeroU32 {
    positive(time.as_secs())
}

fn minutes(time: Duration) -> NonZeroU32 {
    positive(time.as_secs() / 60)
}

fn hours(time: Duration) -> NonZeroU32 {
    positive(time.as_secs() / 3_600)
}

fn positive(number: u64) -> NonZeroU32 {
    let number = u32::try_from(number).ok().and_then(NonZeroU32::new);
    number.unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        limits: LimitArgs,
    }

    #[test]
    fn the_command_line_has_the_limits_of_the_server_as_defaults() {
        let limits = |args: &[&str]| Command::parse_from(args).limits.limits();
        let all = |limits: &Limits| format!("{limits:?}");
        assert_eq!(all(&limits(&["serve"])), all(&Limits::default()));
        let set = limits(&["serve", "--idle-timeout", "30", "--address-sessions", "7"]);
        assert_eq!(set.ping, Duration::from_secs(10));
        let rate = Rate {
            burst: 14,
            per_min: 7,
        };
        assert_eq!(set.client_sessions, rate);
        let set = limits(&[
            "serve",
            "--drafting-hours",
            "2",
            "--page-signals-heard",
            "90",
        ]);
        assert_eq!(set.drafting, Duration::from_hours(2));
        assert_eq!(
            (set.signals_heard.burst, set.signals_heard.per_min),
            (90, 90)
        );
        assert!(Command::try_parse_from(["serve", "--header-timeout", "0"]).is_err());
    }
}
