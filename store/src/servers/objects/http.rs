//! Requests to an object store by the client of HTTP that the server uses elsewhere.

use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::TokioExecutor;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use tokio::time::timeout;

/// For how long a connection is waited for, and a whole answer: a log has a few megabytes at most.
const CONNECTS_WITHIN: Duration = Duration::from_secs(3);
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// Makes the client. It trusts the certificates that this machine trusts.
#[derive(Debug)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut tcp = TcpConnector::new();
        tcp.set_connect_timeout(Some(CONNECTS_WITHIN));
        tcp.enforce_http(false);
        let builder = HttpsConnectorBuilder::new().with_native_roots();
        let builder = builder.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        })?;
        let connector = builder.https_or_http().enable_http1().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(HttpClient::new(Service(client)))
    }
}

#[derive(Debug)]
struct Service(Client<HttpsConnector<TcpConnector>, HttpRequestBody>);

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answered = async {
            let response = self.0.request(request).await.map_err(|error| {
                let kind = match error.is_connect() {
                    true => HttpErrorKind::Connect,
                    false => HttpErrorKind::Request,
                };
                HttpError::new(kind, error)
            })?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await;
            let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error))?;
            let body = HttpResponseBody::from(body.to_bytes());
            Ok(HttpResponse::from_parts(parts, body))
        };
        let answered = timeout(ANSWERS_WITHIN, answered).await;
        answered.unwrap_or_else(|error| Err(HttpError::new(HttpErrorKind::Timeout, error)))
    }
}
