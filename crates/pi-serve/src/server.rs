//! Accepts connections and answers requests.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pi_host::{ExportTheme, Host, SessionOptions};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::assets::serve_asset;
use crate::body::{Reply, discard_body, json, skip_body};
use crate::credentials::{Caller, Credentials};
use crate::guard::{self, HostNames, Peer};
use crate::listen::{ListenError, ListenOptions, listen_tcp};
use crate::mcp::{McpClients, McpEndpoint};
use crate::problem::Problem;
use crate::routes::{self, Match, RouteId};
use crate::{events, host_events, mcp, requests, session_list, sessions, websocket};

/// Connections of one listener; more are closed at once.
const MAX_CONNECTIONS: usize = 64;

/// Time to send the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of the headers of a request.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// Time to answer open requests when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Returns the options of a session in a directory; the error is shown to the user.
pub type SessionOptionsFactory = Box<dyn Fn(&Path) -> Result<SessionOptions, String> + Send + Sync>;

/// Returns the theme that the settings select.
pub type PageThemeSource = Box<dyn Fn() -> ExportTheme + Send + Sync>;

/// A stream of lines in one direction.
pub type BoxedReader = Box<dyn AsyncRead + Send + Unpin>;
pub type BoxedWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves a protocol of lines on a WebSocket, until it ends.
pub type ConnectionHandler =
    Box<dyn Fn(BoxedReader, BoxedWriter) -> BoxFuture<'static, ()> + Send + Sync>;

pub struct ServeOptions {
    pub host: Host,
    pub sessions: SessionOptionsFactory,
    /// The value of `--session-dir`.
    pub session_dir: Option<String>,
    /// The working directory of the process, for sessions without one.
    pub cwd: PathBuf,
    pub listen: ListenOptions,
    /// The file with the token and the signed-in browsers.
    pub credentials: PathBuf,
    /// The theme of the page; without it, the page follows its reader.
    pub page_theme: Option<PageThemeSource>,
    /// Serves editors on `/acp`.
    pub acp: Option<ConnectionHandler>,
    /// Serves MCP clients on `/mcp`.
    pub mcp: Option<McpEndpoint>,
    pub version: String,
    /// How long a session without clients stays open.
    pub idle_limit: Duration,
    pub stop: CancellationToken,
}

/// A server that listens.
pub struct Server {
    state: Arc<ServerState>,
    tcp: Option<TcpListener>,
    #[cfg(unix)]
    socket: Option<crate::listen::OwnSocket>,
}

/// What the routes share.
pub(crate) struct ServerState {
    pub(crate) options: ServeOptions,
    pub(crate) credentials: Credentials,
    pub(crate) tasks: TaskTracker,
    pub(crate) mcp: McpClients,
    names: HostNames,
    address: Option<SocketAddr>,
}

/// What a request leads to, after the checks of its headers.
enum Destination {
    SignIn,
    /// A file of the page.
    Asset,
    /// A route with the parts of its path, for a known client.
    Route(RouteId, Vec<String>, Caller),
}

/// A code that signs in one browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingOffer {
    pub code: String,
    /// The address to open in the browser; absent without `--web`.
    pub url: Option<String>,
    /// The address through the reverse proxy, if one is configured.
    pub remote_url: Option<String>,
}

impl Server {
    /// Listens without accepting connections yet.
    pub async fn bind(options: ServeOptions) -> Result<Self, ListenError> {
        let path = options.credentials.clone();
        let credentials = Credentials::open(path.clone())
            .map_err(|error| ListenError::Credentials(path, error))?;
        #[cfg(unix)]
        let socket = match &options.listen.socket {
            Some(path) => Some(crate::listen::OwnSocket::listen(path).await?),
            None => None,
        };
        let tcp = match options.listen.tcp {
            Some(address) => Some(listen_tcp(address, &options.listen).await?),
            None => None,
        };
        let address = tcp.as_ref().and_then(|tcp| tcp.local_addr().ok());
        let port = address.map(|address| address.port());
        let names = HostNames::new(port, &options.listen.host_names);
        Ok(Self {
            state: Arc::new(ServerState {
                options,
                credentials,
                tasks: TaskTracker::new(),
                mcp: McpClients::default(),
                names,
                address,
            }),
            tcp,
            #[cfg(unix)]
            socket,
        })
    }

    /// Returns the TCP address, if the server listens on one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.state.address
    }

    /// Creates a code that signs in one browser within ten minutes.
    pub fn pair(&self) -> io::Result<PairingOffer> {
        self.state.pair()
    }

    /// Serves until [`ServeOptions::stop`] is canceled, then closes the sessions.
    pub async fn run(self) {
        let stop = self.state.options.stop.clone();
        let idle_limit = self.state.options.idle_limit;
        let host = self.state.options.host.clone();
        let accepting = async {
            tokio::join!(self.accept_tcp(), self.accept_local());
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = accepting => {}
            never = host.keep_closing_idle(idle_limit) => match never {},
        }
        self.state.tasks.close();
        let waiting = self.state.tasks.wait();
        if tokio::time::timeout(SHUTDOWN_GRACE, waiting).await.is_err() {
            tracing::info!("clients did not disconnect in time");
        }
        host.shutdown().await;
    }

    async fn accept_tcp(&self) {
        let Some(listener) = &self.tcp else {
            return std::future::pending().await;
        };
        let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    stream.set_nodelay(true).unwrap_or_default();
                    self.state.serve(Box::new(stream), Peer::Tcp, &slots);
                }
                Err(error) => wait_after(&error).await,
            }
        }
    }

    #[cfg(unix)]
    async fn accept_local(&self) {
        let Some(socket) = &self.socket else {
            return std::future::pending().await;
        };
        let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            match socket.listener.accept().await {
                Ok((stream, _)) => match pi_host::check_peer(&stream) {
                    Ok(()) => self.state.serve(Box::new(stream), Peer::SameUser, &slots),
                    Err(refused) => tracing::warn!("refused a connection: {refused}"),
                },
                Err(error) => wait_after(&error).await,
            }
        }
    }

    #[cfg(not(unix))]
    async fn accept_local(&self) {
        std::future::pending().await
    }
}

/// Waits after a failed `accept`, for example because of too many open files.
async fn wait_after(error: &io::Error) {
    tracing::warn!(%error, "cannot accept a connection");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

impl ServerState {
    /// Serves a connection in the background.
    fn serve(self: &Arc<Self>, stream: Box<dyn Transport>, peer: Peer, slots: &Arc<Semaphore>) {
        let Ok(slot) = Arc::clone(slots).try_acquire_owned() else {
            tracing::warn!("refused a connection: too many are open");
            return;
        };
        let state = Arc::clone(self);
        let stop = self.options.stop.clone();
        self.tasks.spawn(async move {
            let answer = service_fn(move |request| {
                let state = Arc::clone(&state);
                async move { Ok::<_, Infallible>(state.answer(request, peer).await) }
            });
            let mut connection = std::pin::pin!(
                http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEADER_TIMEOUT)
                    .max_buf_size(MAX_HEADER_BYTES)
                    .serve_connection(TokioIo::new(stream), answer)
                    .with_upgrades()
            );
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "connection ended");
            }
            drop(slot);
        });
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>, peer: Peer) -> Reply {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let is_page = !path.starts_with("/v1/") && path != "/mcp";
        let answering = Box::pin(self.route(request, peer));
        let mut reply = answering.await.unwrap_or_else(Problem::into_reply);
        guard::secure(&mut reply, is_page);
        tracing::debug!(%method, path, status = reply.status().as_u16(), "request");
        reply
    }

    async fn route(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        peer: Peer,
    ) -> Result<Reply, Problem> {
        match self.destination(&request, peer) {
            Ok(Destination::SignIn) => requests::sign_in(&self, request).await,
            Ok(Destination::Asset) => serve_asset(request.uri().path(), request.headers()),
            Ok(Destination::Route(route, parts, caller)) => {
                self.dispatch(route, &parts, request, &caller).await
            }
            Err(problem) => {
                discard_body(&mut request).await;
                Err(problem)
            }
        }
    }

    fn destination<B>(&self, request: &Request<B>, peer: Peer) -> Result<Destination, Problem> {
        let (method, headers) = (request.method(), request.headers());
        let path = request.uri().path();
        guard::check_headers(method, path, headers, peer, &self.names)?;
        let found = routes::find(method, path);
        match found {
            Match::Route(RouteId::SignIn, _) => return Ok(Destination::SignIn),
            Match::Unknown if *method == http::Method::GET && !path.starts_with("/v1/") => {
                return Ok(Destination::Asset);
            }
            _ => {}
        }
        let caller = self.identify(headers, peer)?;
        match found {
            Match::Route(route, parts) => Ok(Destination::Route(route, parts, caller)),
            Match::Unknown => Err(Problem::not_found("there is no such route")),
            Match::OtherMethod => {
                let problem = "the route has no such method";
                Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, problem))
            }
        }
    }

    /// Returns who sent a request with these headers.
    fn identify(&self, headers: &HeaderMap, peer: Peer) -> Result<Caller, Problem> {
        if peer == Peer::SameUser {
            return Ok(Caller::Owner);
        }
        let presented = guard::presented(headers, &self.cookie_name());
        let identified = self.credentials.identify(&presented);
        identified.ok_or_else(|| {
            if self.credentials.is_locked() && !presented.is_empty() {
                too_many_attempts()
            } else {
                let problem = "sign in with the URL that `pi serve --web` prints, or send the token of serve.json as `Authorization: Bearer`";
                Problem::new(StatusCode::UNAUTHORIZED, problem)
            }
        })
    }

    async fn dispatch(
        self: Arc<Self>,
        route: RouteId,
        parts: &[String],
        mut request: Request<Incoming>,
        caller: &Caller,
    ) -> Result<Reply, Problem> {
        if !route.reads_body() {
            skip_body(request.body_mut()).await?;
        }
        let part = |index: usize| parts.get(index).map_or("", String::as_str);
        match route {
            RouteId::SignIn => requests::sign_in(&self, request).await,
            RouteId::SignOut => requests::sign_out(&self, caller),
            RouteId::ListDevices => requests::list_devices(&self, caller),
            RouteId::RevokeDevice => requests::revoke_device(&self, part(0)),
            RouteId::Pair => requests::pair(&self, caller),
            RouteId::ListSessions => session_list::list(&self, request.uri()).await,
            RouteId::OpenSession => sessions::open(&self, request).await,
            RouteId::ReadSession => session_list::read(&self, part(0)).await,
            RouteId::ChangeSession => sessions::change(&self, part(0), request).await,
            RouteId::DeleteSession => sessions::delete(&self, part(0)).await,
            RouteId::SendCommand => sessions::send_command(&self, part(0), request).await,
            RouteId::SessionEvents => events::session_events(&self, part(0), &request).await,
            RouteId::SessionSocket => websocket::session_socket(&self, part(0), request).await,
            RouteId::ReadEntries => sessions::read_entries(&self, part(0), request.uri()).await,
            RouteId::ListRequests => sessions::list_requests(&self, part(0)).await,
            RouteId::AnswerRequest => {
                sessions::answer_request(&self, part(0), part(1), request).await
            }
            RouteId::HostEvents => Ok(host_events::host_events(&self)),
            RouteId::SearchSessions => session_list::search(&self, request.uri()).await,
            RouteId::FindFiles => requests::find_files(&self, request.uri()).await,
            RouteId::Theme => requests::theme(&self),
            RouteId::OpenApi => requests::openapi(),
            RouteId::Health => json(
                StatusCode::OK,
                &json!({
                    "status": "ok",
                    "version": self.options.version,
                    "sessions": self.options.host.sessions().len(),
                }),
            ),
            RouteId::Acp => websocket::acp_socket(&self, request),
            RouteId::McpMessage => mcp::post(&self, request).await,
            RouteId::EndMcpSession => mcp::delete(&self, request.headers()),
        }
    }

    /// Returns the name of the cookie. Browsers send cookies to all ports of a host, so it has the port.
    pub(crate) fn cookie_name(&self) -> String {
        let port = self.address.map_or(0, |address| address.port());
        format!("pi_{port}")
    }

    pub(crate) fn pair(&self) -> io::Result<PairingOffer> {
        let code = self.credentials.new_code()?;
        // After `#`, so that the code reaches no log and no other server.
        let url = self
            .address
            .map(|address| format!("http://{address}/#code={code}"));
        let names = self.options.listen.host_names.first();
        let remote_url = names.map(|name| format!("https://{name}/#code={code}"));
        Ok(PairingOffer {
            code,
            url,
            remote_url,
        })
    }
}

pub(crate) fn too_many_attempts() -> Problem {
    let problem = "too many failed attempts; try again in a minute";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, problem)
}
