//! Names by which a server for trials may be called. Another website whose name leads to this machine must not reach it
//! through the browser of a researcher.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The origins from which pages may call, besides those of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(Vec<String>);

impl Origins {
    /// These, such as `https://tunnel.example.edu`.
    pub fn new(origins: Vec<String>) -> Self {
        Self(origins)
    }

    /// True if a request names this machine or one of the origins, and, if it comes from a page, from a page of these.
    fn allows(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(host) = text(header::HOST) else {
            return false;
        };
        let is_known = self.0.iter().any(|origin| host_of(origin) == Some(host));
        let is_from = |origin: &str| {
            let is_own = host_of(origin) == Some(host);
            is_own || self.0.iter().any(|known| known == origin)
        };
        let has_origin = headers.contains_key(header::ORIGIN);
        (is_loopback(host) || is_known)
            && (!has_origin || text(header::ORIGIN).is_some_and(is_from))
    }
}

/// The host of an origin, with its port.
fn host_of(origin: &str) -> Option<&str> {
    let schemes = ["https://", "http://"];
    schemes
        .iter()
        .find_map(|scheme| origin.strip_prefix(scheme))
}

/// True if a host, perhaps with a port, is a name of this machine that nobody else can take.
fn is_loopback(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    let is_address = name
        .parse()
        .is_ok_and(|address: IpAddr| address.is_loopback());
    let name = name.to_ascii_lowercase();
    is_address || name == "localhost" || name.ends_with(".localhost")
}

/// Answers only requests that the origins allow.
pub async fn refuse_foreign(
    State(origins): State<Arc<Origins>>,
    request: Request,
    next: Next,
) -> Response {
    match origins.allows(request.headers()) {
        true => next.run(request).await,
        false => (
            StatusCode::FORBIDDEN,
            "This server is for trials on its own machine. To call it by another name, start it with --origin.\n",
        )
            .into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn allows(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::try_from(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::try_from(origin).unwrap());
        }
        Origins::new(vec!["https://tunnel.example.edu".to_owned()]).allows(&headers)
    }

    #[test]
    fn names_of_this_machine_and_given_origins_are_answered_and_others_are_not() {
        for host in [
            "127.0.0.1:8080",
            "localhost:8080",
            "[::1]:8080",
            "a.localhost",
            "tunnel.example.edu",
        ] {
            assert!(allows(host, None), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.1",
            "",
        ] {
            assert!(!allows(host, None), "{host}");
        }
        assert!(!Origins::default().allows(&HeaderMap::new()));
    }

    #[test]
    fn a_page_of_another_site_opens_no_socket() {
        assert!(allows("127.0.0.1:8080", Some("http://127.0.0.1:8080")));
        assert!(allows("127.0.0.1:8080", Some("https://tunnel.example.edu")));
        assert!(allows(
            "tunnel.example.edu",
            Some("https://tunnel.example.edu")
        ));
        for origin in [
            "https://evil.example",
            "null",
            "http://127.0.0.1:9090",
            "http://localhost:8080",
        ] {
            assert!(!allows("127.0.0.1:8080", Some(origin)), "{origin}");
        }
    }
}
