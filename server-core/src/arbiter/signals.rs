//! Signals between pages that connect by WebRTC: the server forwards a limited number of them, and nobody's address if
//! the study hides addresses.

use std::net::IpAddr;

use protocol::Seat;
use protocol::control::ServerMessage;
use protocol::signal::{self, Signal};
use study::disconnect::IcePolicy;

pub(super) use super::signal_rates::SignalRates;
use super::{Arbiter, Place, SessionId};

impl Arbiter {
    /// Names the address of the TURN server's relayed addresses; `None` if there is none.
    #[must_use]
    pub fn with_relay_address(mut self, address: Option<IpAddr>) -> Self {
        self.relay_address = address;
        self
    }

    /// Passes a signal on. What is too much, too long, or names an address that the study hides is dropped.
    pub(super) fn handle_signal(&mut self, now_us: u64, who: SessionId, to: Seat, data: String) {
        if data.len() > self.limits.signal_bytes {
            return;
        }
        let (Some((from, conn)), Place::Episode(era, _)) =
            (self.peers(who, to), self.sessions[who].place)
        else {
            return;
        };
        let data = match self.study.net.ice {
            IcePolicy::All => Some(data),
            IcePolicy::Relay => hide_addresses(&data, self.relay_address),
        };
        let (each, all) = (self.limits.signals, self.limits.signals_heard);
        let episode = self.episodes.get_mut(era);
        let passes = episode.is_some_and(|it| it.signals.take_token(now_us, from, to, each, all));
        if let Some(data) = data.filter(|_| passes) {
            self.send_message(conn, ServerMessage::Signal { from, data });
        }
    }
}

/// Returns a signal without any address except the relay's; `None` if it names another one as a way to its sender, or
/// is not a signal.
fn hide_addresses(data: &str, relay: Option<IpAddr>) -> Option<String> {
    let mut signal = signal::decode(data).ok()?;
    match &mut signal {
        Signal::Call => {}
        Signal::Candidate { candidate, .. } if candidate.is_empty() => {}
        Signal::Candidate { candidate, .. } => *candidate = hide_related(candidate, relay)?,
        Signal::Offer { sdp, .. } | Signal::Answer { sdp, .. } => {
            let lines = sdp.split_inclusive('\n').map(|line| {
                let is_way = line.trim_start().starts_with("a=candidate:");
                match is_way {
                    true => hide_related(line, relay).map(|line| line + "\r\n"),
                    false => Some(line.to_owned()),
                }
            });
            *sdp = lines.collect::<Option<String>>()?;
        }
    }
    Some(signal::encode(&signal))
}

/// A candidate of the relay, without the address behind it; `None` for any other.
///
/// Source: RFC 8839 §5.1: foundation, component, transport, priority, address, port, `typ` and type, then pairs.
fn hide_related(candidate: &str, relay: Option<IpAddr>) -> Option<String> {
    let mut words: Vec<&str> = candidate.split_whitespace().collect();
    let address: IpAddr = words.get(4)?.parse().ok()?;
    if Some(address.to_canonical()) != relay.map(|relay| relay.to_canonical()) {
        return None;
    }
    for place in 8..words.len() {
        match words[place - 1] {
            "raddr" => words[place] = "0.0.0.0",
            "rport" => words[place] = "0",
            _ => {}
        }
    }
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    const RELAY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));

    fn candidate(text: &str) -> String {
        signal::encode(&Signal::Candidate {
            connection: NonZeroU32::MIN,
            candidate: text.into(),
            mid: Some("0".into()),
            line: Some(0),
        })
    }

    fn offer(sdp: &str) -> String {
        signal::encode(&Signal::Offer {
            connection: NonZeroU32::MIN,
            sdp: sdp.into(),
        })
    }

    #[test]
    fn a_candidate_that_is_not_the_relays_is_dropped() {
        let hidden = |text: &str| hide_addresses(&candidate(text), Some(RELAY));
        for address in [
            "192.168.1.7",
            "10.0.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "fd00::1",
            "fe80::1",
            "::ffff:192.168.1.7",
            "198.51.100.7",
            "3c1f-2e.local",
        ] {
            for kind in ["host", "srflx", "relay"] {
                let text = format!("candidate:1 1 udp 2122260223 {address} 54321 typ {kind}");
                assert_eq!(hidden(&text), None, "{text}");
            }
        }
        assert_eq!(hidden("nonsense"), None);
        assert_eq!(hide_addresses("nonsense", Some(RELAY)), None);
        assert_eq!(hidden(""), Some(candidate("")), "the end of candidates");
        let good = "candidate:1 1 udp 41819902 203.0.113.9 50001 typ relay raddr 198.51.100.7 rport 4711 ufrag x";
        let told = good.replace("198.51.100.7 rport 4711", "0.0.0.0 rport 0");
        assert_eq!(hidden(good), Some(candidate(&told)));
        assert_eq!(hide_addresses(&candidate(good), None), None, "no relay");
    }

    #[test]
    fn a_description_with_such_a_candidate_is_dropped() {
        let plain = offer("v=0\r\nc=IN IP4 0.0.0.0\r\na=setup:actpass\r\n");
        assert_eq!(hide_addresses(&plain, Some(RELAY)), Some(plain.clone()));
        let of = |address| {
            offer(&format!(
                "v=0\r\na=candidate:1 1 udp 1 {address} 9 typ relay\r\n"
            ))
        };
        assert_eq!(hide_addresses(&of("192.168.1.7"), Some(RELAY)), None);
        assert_eq!(
            hide_addresses(&of("203.0.113.9"), Some(RELAY)),
            Some(of("203.0.113.9"))
        );
    }

    #[test]
    fn a_flood_of_signals_leaves_room_in_the_queue_of_its_receiver() {
        let limits = crate::limits::Limits::default();
        let mut rates = SignalRates::default();
        let mut passed = 0;
        for _ in 0..10_000 {
            for from in 1..16 {
                let (each, all) = (limits.signals, limits.signals_heard);
                passed += usize::from(rates.take_token(7, Seat(from), Seat(0), each, all));
            }
        }
        assert!(passed > 100 && passed <= limits.outgoing / 2, "{passed}");
    }
}
