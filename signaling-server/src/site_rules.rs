//! The sites on other hosts that a server answers. This module must not know what a site is made of.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};

/// The sites that a server answers.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    /// Their origins; empty if pages come only from the server.
    origins: Vec<String>,
    /// The hash of all that a page of the study loads.
    built: String,
}

impl Sites {
    /// The sites at these addresses, such as `https://lab.example.edu/study`.
    pub fn new(addresses: &[String], built: String) -> Self {
        Self {
            origins: list_origins(addresses),
            built,
        }
    }

    /// True if a page that opens a session comes from the server itself or from a declared site, or if nothing is
    /// declared. What is no browser names no origin, and could name any.
    pub fn is_allowed(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else {
            return true;
        };
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let origin = origin.to_str().unwrap_or_default();
        self.origins.is_empty() || is_at(origin, host) || self.knows(origin)
    }

    fn knows(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }

    /// A sentence on what keeps a site from working with this server, and on the way to fix it.
    pub fn find_fault(&self, origin: &str, built: &str) -> Option<String> {
        if !self.knows(origin) {
            // It is shown on a page: nothing of a stranger's header goes there but an origin.
            let origin = find_origin(origin).unwrap_or_else(|| "an unknown origin".to_owned());
            return Some(format!(
                "The server does not answer pages of {origin}. Start it with `--site` and the address at which \
                 participants open the study there, such as --site {origin}/"
            ));
        }
        (built != self.built).then(|| {
            "The files of this site are of another version of the study or of Coplay than the server. Make them again \
             with `coplay site`, and upload all of them."
                .to_owned()
        })
    }
}

/// The origin of an address, as a browser names it.
pub fn find_origin(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let authority: Authority = rest.split(['/', '?', '#']).next()?.parse().ok()?;
    let usual = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let host = authority.host().to_ascii_lowercase();
    // It goes into policies and sentences.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_plain) {
        return None;
    }
    Some(match authority.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

/// The origins of addresses, as a browser names them.
pub(crate) fn list_origins(addresses: &[String]) -> Vec<String> {
    let origins = addresses.iter();
    origins.filter_map(|it| find_origin(it)).collect()
}

fn is_at(origin: &str, host: Option<&str>) -> bool {
    let named = origin.split_once("://").map(|(_, named)| named);
    named.is_some() && named == host
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(origin: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("study.example.edu"));
        headers.insert(header::ORIGIN, HeaderValue::try_from(origin).unwrap());
        headers
    }

    #[test]
    fn an_origin_is_what_a_browser_says_of_an_address() {
        for (address, origin) in [
            ("https://Lab.github.io/study/", "https://lab.github.io"),
            ("https://lab.example.edu:443/a", "https://lab.example.edu"),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("http://[::1]:80/x?y#z", "http://[::1]"),
        ] {
            assert_eq!(find_origin(address).as_deref(), Some(origin));
        }
        for address in [
            "lab.github.io",
            "file:///home",
            "null",
            "https://",
            "https://a;script-src",
            "",
        ] {
            assert_eq!(find_origin(address), None, "{address}");
        }
    }

    #[test]
    fn pages_of_declared_sites_and_of_the_server_open_sessions_and_no_others_do() {
        let sites = Sites::new(&["https://lab.github.io/study".to_owned()], "b".to_owned());
        for origin in ["https://lab.github.io", "https://study.example.edu"] {
            assert!(sites.is_allowed(&headers(origin)), "{origin}");
        }
        for origin in [
            "http://lab.github.io",
            "https://lab.github.io.evil.example",
            "https://evil.example",
            "null",
        ] {
            assert!(!sites.is_allowed(&headers(origin)), "{origin}");
        }
        assert!(
            sites.is_allowed(&HeaderMap::new()),
            "a program without a browser"
        );
        assert!(Sites::default().is_allowed(&headers("https://evil.example")));
    }

    #[test]
    fn a_fault_of_a_site_says_how_to_fix_it() {
        let sites = Sites::new(&["https://lab.github.io/study".to_owned()], "b".to_owned());
        assert_eq!(sites.find_fault("https://lab.github.io", "b"), None);
        let told = sites.find_fault("https://lab.github.io", "a").unwrap();
        assert!(told.contains("`coplay site`"), "{told}");
        let told = sites.find_fault("https://other.example", "b").unwrap();
        assert!(told.contains("--site https://other.example/"), "{told}");
        let told = sites.find_fault("<script>", "b").unwrap();
        assert!(!told.contains("<script>"), "{told}");
    }
}
