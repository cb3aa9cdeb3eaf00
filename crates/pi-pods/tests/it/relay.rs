//! A loopback port in front of a server, whose connections a test can cut.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) struct Relay {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    pub(crate) fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let connections: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let known = Arc::clone(&connections);
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok((client, server)) =
                    client.and_then(|it| Ok((it, TcpStream::connect(target)?)))
                else {
                    continue;
                };
                let streams = [&client, &server].map(|stream| stream.try_clone().unwrap());
                known.lock().unwrap().extend(streams);
                copy(client.try_clone().unwrap(), server.try_clone().unwrap());
                copy(server, client);
            }
        });
        Self {
            address,
            connections,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Ends all connections. New ones can be made.
    pub(crate) fn cut(&self) {
        for connection in self.connections.lock().unwrap().drain(..) {
            // The other side may have closed it.
            connection.shutdown(Shutdown::Both).ok();
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        io::copy(&mut from, &mut to).ok();
        to.shutdown(Shutdown::Write).ok();
    });
}
