//! TLS for sockets and `WebSocket`s of extensions: rustls with aws-lc and the platform's trust store.
//!
//! Extensions can also provide their own certificate authorities and run TLS servers.

use std::sync::{Arc, OnceLock};

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::NativeError;

/// Created on the first connection, which loads the platform's root certificates.
static PLATFORM_CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();

fn platform_config() -> Result<Arc<ClientConfig>, NativeError> {
    let config = PLATFORM_CONFIG.get_or_init(|| {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| Ok(builder.with_platform_verifier()?.with_no_client_auth()))
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(config))
    });
    config.clone().map_err(setup_error)
}

fn setup_error(error: impl std::fmt::Display) -> NativeError {
    NativeError::new(format!("cannot set up TLS: {error}"))
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, NativeError> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| {
            NativeError::new(format!("cannot parse the certificate: {error}"))
                .with_code("ERR_OSSL_PEM_NO_START_LINE")
        })
}

/// Returns a configuration that trusts only these certificate authorities.
fn config_trusting(authorities: &str) -> Result<Arc<ClientConfig>, NativeError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(authorities)?);
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(setup_error)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Certificate and key of a server.
pub(super) struct ServerIdentity(Arc<ServerConfig>);

/// Parses the PEM certificate chain and key of a server.
pub(super) fn identity(
    certificate: &str,
    key: &str,
    protocols: &[String],
) -> Result<ServerIdentity, NativeError> {
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| {
        NativeError::new(format!("cannot parse the server's key: {error}"))
            .with_code("ERR_OSSL_PEM_NO_START_LINE")
    })?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(setup_error)?
        .with_no_client_auth()
        .with_single_cert(certificates(certificate)?, key)
        .map_err(setup_error)?;
    let protocols = protocols.iter().map(|it| it.clone().into_bytes());
    config.alpn_protocols = protocols.collect();
    Ok(ServerIdentity(Arc::new(config)))
}

/// Performs the server side of a TLS handshake.
pub(super) async fn accept<Stream: AsyncRead + AsyncWrite + Unpin>(
    stream: Stream,
    identity: &ServerIdentity,
) -> Result<server::TlsStream<Stream>, NativeError> {
    let acceptor = TlsAcceptor::from(Arc::clone(&identity.0));
    let accepted = acceptor.accept(stream).await;
    accepted.map_err(|error| NativeError::new(error.to_string()).with_code("EPROTO"))
}

/// The server that a client connects to.
pub(super) struct TlsPeer<'a> {
    /// Name that the certificate must match.
    pub(super) server: &'a str,
    pub(super) protocols: &'a [String],
    /// PEM certificates to trust instead of the platform's. Empty means the platform's.
    pub(super) authorities: &'a str,
}

/// Performs the client side of a TLS handshake.
pub(super) async fn handshake<Stream: AsyncRead + AsyncWrite + Unpin>(
    stream: Stream,
    peer: &TlsPeer<'_>,
) -> Result<client::TlsStream<Stream>, NativeError> {
    let TlsPeer {
        server,
        protocols,
        authorities,
    } = *peer;
    let name = ServerName::try_from(server.to_owned()).map_err(|_invalid| {
        NativeError::new(format!("invalid server name: {server}"))
            .with_code("ERR_INVALID_ARG_VALUE")
    })?;
    let mut config = if authorities.is_empty() {
        platform_config()?
    } else {
        config_trusting(authorities)?
    };
    if !protocols.is_empty() {
        let protocols = protocols.iter().map(|it| it.clone().into_bytes());
        Arc::make_mut(&mut config).alpn_protocols = protocols.collect();
    }
    let connector = TlsConnector::from(config);
    connector.connect(name, stream).await.map_err(|error| {
        let tls_error = error
            .get_ref()
            .and_then(|it| it.downcast_ref::<rustls::Error>());
        match tls_error {
            Some(rustls::Error::InvalidCertificate(why)) => NativeError::new(format!(
                "the certificate of {server} is not trusted: {why:?}"
            ))
            .with_code("UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
            Some(other) => NativeError::new(other.to_string()).with_code("EPROTO"),
            None => NativeError::from_io(&error, "connect", Some(server)),
        }
    })
}
