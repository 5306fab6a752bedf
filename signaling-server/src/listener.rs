//! Accepts connections, and serves each by HTTP until it becomes a session socket or ends. Nobody can hold one open
//! without saying anything.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::ServiceExt as _;

use crate::app::App;
use crate::client_address::ClientAddress;
use crate::gate::Admitted;

/// Bytes that the head of a request may have.
const MAX_HEAD: usize = 32 * 1024;

/// Bytes that the body of a request may have.
const MAX_BODY: usize = 64 * 1024;

/// Time until the next try if the system gives no connection: it has no file descriptor, or no memory.
const AGAIN: Duration = Duration::from_millis(50);

/// The source of a request.
#[derive(Clone, Debug)]
pub struct Caller {
    peer: IpAddr,
    /// The place of its connection.
    pub admitted: Arc<Admitted>,
}

impl Caller {
    /// The client of a request.
    pub fn client_of(&self, headers: &HeaderMap, trusted: &[IpAddr]) -> ClientAddress {
        ClientAddress::of_request(self.peer, headers, trusted)
    }
}

/// Serves every connection, until `shutting` ends or is dropped; then the open ones finish their request.
pub(crate) async fn serve_connections(
    listener: TcpListener,
    handler: Router,
    app: Arc<App>,
    mut shutting: oneshot::Receiver<()>,
) {
    let mut tasks = JoinSet::new();
    let (stop, stopping) = watch::channel(());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
            _ = &mut shutting => break,
        };
        let Ok((stream, peer)) = accepted else {
            sleep(AGAIN).await;
            continue;
        };
        let is_proxy = app.trusted_proxies.contains(&peer.ip().to_canonical());
        let client = (!is_proxy).then(|| ClientAddress::new(peer.ip()));
        let Some(admitted) = app.gate.admit_client(client) else {
            continue;
        };
        let caller = Caller {
            peer: peer.ip(),
            admitted: Arc::new(admitted),
        };
        let (handler, app, stopping) = (handler.clone(), Arc::clone(&app), stopping.clone());
        tasks.spawn(serve_connection(stream, handler, app, caller, stopping));
    }
    drop((listener, stop));
    while tasks.join_next().await.is_some() {}
}

async fn serve_connection(
    stream: TcpStream,
    handler: Router,
    app: Arc<App>,
    caller: Caller,
    mut stopping: watch::Receiver<()>,
) {
    // A message waits for no other one. Without it entry takes 40 ms longer; a socket that refuses is closing.
    let _ = stream.set_nodelay(true);
    let admitted = Arc::clone(&caller.admitted);
    let patience = app.limits.headers;
    let service =
        service_fn(move |request| answer(handler.clone(), caller.clone(), request, patience));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits.headers)
        .max_buf_size(MAX_HEAD);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection.with_upgrades());
    let mut is_stopping = false;
    let mut overdue = std::pin::pin!(sleep(app.limits.fetching));
    loop {
        tokio::select! {
            // Whatever went wrong on the way to a browser, it asks again.
            _ = connection.as_mut() => return,
            () = admitted.wait_for_close() => return,
            () = &mut overdue => return,
            _ = stopping.changed(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Answers one request, whose body must arrive in time. From then on, its connection is not silent, until the whole
/// answer is sent.
async fn answer(
    handler: Router,
    caller: Caller,
    request: Request<Incoming>,
    patience: Duration,
) -> Result<Response<Body>, std::convert::Infallible> {
    let (head, body) = request.into_parts();
    let body = match timeout(patience, Limited::new(body, MAX_BODY).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return Ok(refuse(StatusCode::PAYLOAD_TOO_LARGE)),
        Err(_) => return Ok(refuse(StatusCode::REQUEST_TIMEOUT)),
    };
    let busy = Busy::new(&caller);
    let mut request = Request::from_parts(head, Body::from(body));
    request.extensions_mut().insert(caller);
    let response = handler.oneshot(request).await?;
    let keep = move |frame| {
        let _ = &busy;
        frame
    };
    Ok(response.map(|body| Body::new(body.map_frame(keep))))
}

/// The answer to a request whose body is not read to its end: the connection closes with it.
fn refuse(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

/// A request that is being answered.
struct Busy(Arc<Admitted>);

impl Busy {
    fn new(caller: &Caller) -> Self {
        caller.admitted.set_silent(false);
        Self(Arc::clone(&caller.admitted))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_silent(true);
    }
}
