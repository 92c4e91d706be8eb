"""A road to a server of the tests that cuts connections."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tests.make.servers import HOST


@dataclass
class Cutter:
    """A road to the server that cuts connections after so many bytes; it counts what was sent."""

    port: int
    target: int
    cuts: list[int]
    sent: int = 0
    was_cut: int = 0

    def carry(self, client: socket.socket) -> None:
        """Carry one connection, to its end or to the next cut."""
        with client, socket.create_connection((HOST, self.target)) as server:
            back = threading.Thread(target=_pump, args=(server, client))
            back.start()
            carried = 0
            with suppress(OSError):
                while not self._cuts_at(carried) and (piece := client.recv(self._most(carried))):
                    server.sendall(piece)
                    carried += len(piece)
                    self.sent += len(piece)
            # The sender learns of the cut once the server is done with what came: else it asks too early.
            with suppress(OSError):
                server.shutdown(socket.SHUT_WR)
            back.join()
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _most(self, carried: int) -> int:
        return min(65536, self.cuts[-1] - carried) if self.cuts else 65536

    def _cuts_at(self, carried: int) -> bool:
        if not self.cuts or carried < self.cuts[-1]:
            return False
        self.cuts.pop()
        self.was_cut += 1
        return True


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def cutting(target: int, cuts: list[int]) -> Iterator[Cutter]:
    """A Cutter before a port until the end; only one connection at a time sends much."""
    with socket.create_server((HOST, 0)) as listening, ThreadPoolExecutor() as threads:
        cutter = Cutter(listening.getsockname()[1], target, cuts)
        is_over = threading.Event()
        clients: list[socket.socket] = []

        def run() -> None:
            while not is_over.is_set():
                client, _ = listening.accept()
                clients.append(client)
                threads.submit(cutter.carry, client)

        running = threading.Thread(target=run)
        running.start()
        try:
            yield cutter
        finally:
            is_over.set()
            socket.create_connection((HOST, cutter.port)).close()
            running.join()
            for client in clients:
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
