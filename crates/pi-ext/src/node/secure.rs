//! TLS for the sockets of extensions, those of the web too: aws-lc, with the trust of the platform.
//!
//! An extension may name the authorities it trusts itself, and may be a server.

use std::sync::{Arc, OnceLock};

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::NativeError;

/// Made with the first connection; the platform's roots are read then.
static CONFIGURATION: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();

fn configuration() -> Result<Arc<ClientConfig>, NativeError> {
    let made = CONFIGURATION.get_or_init(|| {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| Ok(builder.with_platform_verifier()?.with_no_client_auth()))
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(config))
    });
    made.clone().map_err(no_set_up)
}

fn no_set_up(error: impl std::fmt::Display) -> NativeError {
    NativeError::new(format!("TLS could not be set up: {error}"))
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, NativeError> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| {
            NativeError::new(format!("the certificate cannot be read: {error}"))
                .with_code("ERR_OSSL_PEM_NO_START_LINE")
        })
}

/// Trusts these authorities and no others.
fn trusting(authorities: &str) -> Result<Arc<ClientConfig>, NativeError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(authorities)?);
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(no_set_up)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// What a server proves itself with.
pub(super) struct Identity(Arc<ServerConfig>);

/// Reads a server's certificates and key (PEM).
pub(super) fn identity(
    certificate: &str,
    key: &str,
    protocols: &[String],
) -> Result<Identity, NativeError> {
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| {
        NativeError::new(format!("the key of the server cannot be read: {error}"))
            .with_code("ERR_OSSL_PEM_NO_START_LINE")
    })?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(no_set_up)?
        .with_no_client_auth()
        .with_single_cert(certificates(certificate)?, key)
        .map_err(no_set_up)?;
    let protocols = protocols.iter().map(|it| it.clone().into_bytes());
    config.alpn_protocols = protocols.collect();
    Ok(Identity(Arc::new(config)))
}

/// Shakes hands with a client.
pub(super) async fn accept<Stream: AsyncRead + AsyncWrite + Unpin>(
    stream: Stream,
    identity: &Identity,
) -> Result<server::TlsStream<Stream>, NativeError> {
    let acceptor = TlsAcceptor::from(Arc::clone(&identity.0));
    let accepted = acceptor.accept(stream).await;
    accepted.map_err(|error| NativeError::new(error.to_string()).with_code("EPROTO"))
}

/// Whom a client wants to speak with.
pub(super) struct Peer<'a> {
    /// The name it has to prove.
    pub(super) server: &'a str,
    pub(super) protocols: &'a [String],
    /// Certificates (PEM) to trust in place of the platform's.
    pub(super) authorities: &'a str,
}

/// Shakes hands with a server of this name.
pub(super) async fn handshake<Stream: AsyncRead + AsyncWrite + Unpin>(
    stream: Stream,
    peer: &Peer<'_>,
) -> Result<client::TlsStream<Stream>, NativeError> {
    let Peer {
        server,
        protocols,
        authorities,
    } = *peer;
    let name = ServerName::try_from(server.to_owned()).map_err(|_invalid| {
        NativeError::new(format!("{server} is no name of a server"))
            .with_code("ERR_INVALID_ARG_VALUE")
    })?;
    let mut config = if authorities.is_empty() {
        configuration()?
    } else {
        trusting(authorities)?
    };
    if !protocols.is_empty() {
        let protocols = protocols.iter().map(|it| it.clone().into_bytes());
        Arc::make_mut(&mut config).alpn_protocols = protocols.collect();
    }
    let connector = TlsConnector::from(config);
    connector.connect(name, stream).await.map_err(|error| {
        let refused = error
            .get_ref()
            .and_then(|it| it.downcast_ref::<rustls::Error>());
        match refused {
            Some(rustls::Error::InvalidCertificate(why)) => NativeError::new(format!(
                "the certificate of {server} is not trusted: {why:?}"
            ))
            .with_code("UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
            Some(other) => NativeError::new(other.to_string()).with_code("EPROTO"),
            None => NativeError::from_io(&error, "connect", Some(server)),
        }
    })
}
