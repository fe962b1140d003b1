//! Serves a file or another server's export until it is killed: `serve TARGET SOCKET [TRACE]`. For benches/nbd_speed.py.

use std::path::Path;
use std::sync::Arc;

use flashtwin_live::nbd::{Address, NbdExport, Server, ServerOptions, Uri};
use flashtwin_live::record::{Key, RecordOptions, Recorder};
use flashtwin_live::{Export, FileExport};

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(target), Some(socket)) = (arguments.first(), arguments.get(1)) else {
        return Err(std::io::Error::other("serve TARGET SOCKET [TRACE]"));
    };
    let mut export: Arc<dyn Export> = if target.contains("://") {
        Arc::new(NbdExport::connect(&Uri::parse(target)?)?)
    } else {
        Arc::new(FileExport::open(Path::new(target), false)?)
    };
    if let Some(trace) = arguments.get(2) {
        export =
            Arc::new(Recorder::start(export, Path::new(trace), Key::random()?, &RecordOptions::default())?);
    }
    let _server = Server::start(export, &Address::Unix(socket.into()), ServerOptions::default())?;
    loop {
        std::thread::park();
    }
}
