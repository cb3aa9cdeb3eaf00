//! A certificate authority of our own, made afresh for each test.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

static AUTHORITIES: AtomicUsize = AtomicUsize::new(0);

/// An authority that nobody trusts unless told to.
pub struct TestAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl fmt::Debug for TestAuthority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TestAuthority")
    }
}

impl Default for TestAuthority {
    fn default() -> Self {
        Self::new()
    }
}

impl TestAuthority {
    /// Creates an authority.
    pub fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        // Authorities of one name would pass for each other until their signatures are checked.
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("Test authority {number}");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self {
            issuer: CertifiedIssuer::self_signed(params, key).unwrap(),
        }
    }

    /// Returns the authority's certificate (DER), for a client that shall trust it.
    pub fn certificate(&self) -> Vec<u8> {
        self.issuer.der().to_vec()
    }

    /// Accepts TLS for `localhost`, `127.0.0.1` and `api.example.test`.
    pub fn acceptor(&self) -> TlsAcceptor {
        let names = ["localhost", "127.0.0.1", "api.example.test"].map(str::to_owned);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}
