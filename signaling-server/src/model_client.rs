//! Asks language models over HTTP, with the key of this server. When, what and how often is decided in the core.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use server_core::language_model::{
    Completion, MAX_BODY, ModelFailure, ModelReply, ModelRequest, plan_retry, read_response,
};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};

/// The variable of the environment that can hold the key.
pub const KEY_VARIABLE: &str = "COPLAY_MODEL_KEY";

/// Requests that are under way at the same time; further ones wait, and their time runs.
const AT_ONCE: usize = 64;

/// The key under which a provider of language models is asked. It is in no message, log or table.
#[derive(Clone)]
pub struct ModelKey(HeaderValue);

impl std::fmt::Debug for ModelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ModelKey")
    }
}

impl ModelKey {
    /// Reads the key from a file, or else from the variable of the environment; `None` if neither is there.
    ///
    /// # Errors
    /// The file cannot be read, or holds no key.
    pub fn read(file: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let text = match file {
            Some(path) => std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {} (--model-key)", path.display()))?,
            None => match std::env::var(KEY_VARIABLE) {
                Ok(text) => text,
                Err(_) => return Ok(None),
            },
        };
        let source = file.map_or(KEY_VARIABLE.to_owned(), |path| path.display().to_string());
        Self::of(&text).map(Some).with_context(|| {
            format!("{source} holds no key; write the key of the provider into it, in one line")
        })
    }

    /// The key of a text; `None` if it cannot be one.
    fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_key = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).ok()?;
        value.set_sensitive(true);
        is_key.then_some(Self(value))
    }
}

/// The rule by which language models are asked or not, and the key.
#[derive(Clone, Debug)]
pub enum ModelAccess {
    /// They are asked, with a key if there is one.
    Ask(Option<ModelKey>),
    /// Nobody is asked, as in a rehearsal: the fallback of the study is used.
    Refuse,
}

impl Default for ModelAccess {
    fn default() -> Self {
        Self::Ask(None)
    }
}

/// Asks language models.
pub struct ModelClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    access: ModelAccess,
    slots: Arc<Semaphore>,
}

impl ModelClient {
    /// A client. It trusts the certificates that this machine trusts.
    pub fn new(access: ModelAccess) -> Self {
        Self {
            client: make_client(),
            access,
            slots: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Asks, and repeats the request as far as it allows. Returns the reply, and the number of tries that gave no
    /// answer and may still be billed.
    pub async fn ask(&self, request: &ModelRequest) -> (ModelReply, u8) {
        if matches!(self.access, ModelAccess::Refuse) {
            let result = Err(ModelFailure::NotAsked);
            return (ModelReply { result, retries: 0 }, 0);
        }
        let deadline = Instant::now() + Duration::from_millis(u64::from(request.timeout_ms));
        let (mut tries, mut billed) = (0_u8, 0_u8);
        loop {
            tries = tries.saturating_add(1);
            let mut is_sent = false;
            let asked = timeout_at(deadline, self.ask_once(request, &mut is_sent)).await;
            let (result, retry_after_ms) = asked.unwrap_or((Err(ModelFailure::Timeout), None));
            let retries = tries - 1;
            let failure = match result {
                Ok(completion) => {
                    let result = Ok(completion);
                    return (ModelReply { result, retries }, billed);
                }
                Err(failure) => failure,
            };
            if is_sent && failure.may_be_billed() {
                billed = billed.saturating_add(1);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
            let pause_ms = plan_retry(failure, tries, request.retries, retry_after_ms, left_ms);
            let Some(pause_ms) = pause_ms else {
                tracing::warn!(
                    failure = failure.reason_word(),
                    retries,
                    "a language model gave no answer"
                );
                let result = Err(failure);
                return (ModelReply { result, retries }, billed);
            };
            sleep(Duration::from_millis(pause_ms)).await;
        }
    }

    /// Asks once. The pause that the endpoint asks for, milliseconds, comes with it. `is_sent` becomes true as soon as the
    /// endpoint may have got the request.
    async fn ask_once(
        &self,
        request: &ModelRequest,
        is_sent: &mut bool,
    ) -> (Result<Completion, ModelFailure>, Option<u64>) {
        let Ok(_slot) = self.slots.acquire().await else {
            return (Err(ModelFailure::Unreachable), None);
        };
        let Some(message) = self.message(request) else {
            return (Err(ModelFailure::Unreachable), None);
        };
        *is_sent = true;
        let response = match self.client.request(message).await {
            Ok(response) => response,
            Err(error) => {
                *is_sent = !error.is_connect();
                return (Err(ModelFailure::Unreachable), None);
            }
        };
        let status = response.status().as_u16();
        let pause = response.headers().get(RETRY_AFTER);
        let pause_ms = pause.and_then(read_pause);
        let body = Limited::new(response.into_body(), MAX_BODY).collect().await;
        let result = match body {
            Ok(body) => read_response(status, &body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(ModelFailure::TooLong),
            Err(_) => Err(ModelFailure::Unreachable),
        };
        (result, pause_ms)
    }

    fn message(&self, request: &ModelRequest) -> Option<Request<Full<Bytes>>> {
        let uri: Uri = format!("{}/chat/completions", request.url).parse().ok()?;
        let mut message = Request::post(uri).header(CONTENT_TYPE, "application/json");
        if let ModelAccess::Ask(Some(ModelKey(key))) = &self.access {
            message = message.header(AUTHORIZATION, key.clone());
        }
        message
            .body(Full::new(Bytes::from(request.body.clone())))
            .ok()
    }
}

/// A client of HTTP that trusts the certificates that this machine trusts.
pub(crate) fn make_client() -> Client<HttpsConnector<HttpConnector>, Full<Bytes>> {
    let native = HttpsConnectorBuilder::new().with_native_roots();
    let builder = match native {
        Ok(builder) => builder,
        Err(error) => {
            tracing::warn!(%error, "this machine trusts no certificates, so nobody can be reached over https");
            HttpsConnectorBuilder::new().with_tls_config(no_roots())
        }
    };
    let connector = builder.https_or_http().enable_http1().build();
    Client::builder(TokioExecutor::new()).build(connector)
}

/// The settings of TLS of a machine that trusts nobody.
fn no_roots() -> rustls::ClientConfig {
    rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

/// The seconds in the header `Retry-After`, as milliseconds; a date is not read.
pub(crate) fn read_pause(value: &HeaderValue) -> Option<u64> {
    let seconds: f64 = value.to_str().ok()?.trim().parse().ok()?;
    let is_pause = seconds.is_finite() && (0.0..=86_400.0).contains(&seconds);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within a day"
    )]
    is_pause.then_some((seconds * 1_000.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_line_and_is_not_shown() {
        let key = ModelKey::of(" sk-secret\n").unwrap();
        assert_eq!(key.0.to_str().unwrap(), "Bearer sk-secret");
        assert!(!format!("{key:?}").contains("secret"));
        assert!(!format!("{:?}", key.0).contains("secret"));
        for wrong in ["", " \n", "two words", "two\nlines"] {
            assert!(ModelKey::of(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_pause_is_a_number_of_seconds() {
        let pause = |text: &str| read_pause(&HeaderValue::from_str(text).unwrap());
        assert_eq!([pause("2"), pause("0.5")], [Some(2_000), Some(500)]);
        let none = [
            "",
            "-1",
            "nan",
            "inf",
            "1e9",
            "Wed, 21 Oct 2015 07:28:00 GMT",
        ];
        assert!(none.into_iter().all(|text| pause(text).is_none()));
    }
}
