"""A checkpoint for every answer as it arrives, and a token over each while asking goes on.

The pen signs; a thread of its own asks the authorities, one list after the
other, so that no answer waits for a token. What could not be stamped at once
stands in the queue of the anchors and is stamped later, with the later time.
"""

from __future__ import annotations

import queue as queues
import threading
from collections.abc import Sequence
from pathlib import Path

from beforehand.anchors.anchor import Anchor
from beforehand.anchors.queue import Queue
from beforehand.errors import BeforehandError
from beforehand.stages.anchoring import QUEUE_NAME, Stamped, queue_stamps, try_item
from beforehand.stages.pen import Pen


class AnswerStamps:
    """The stamps of one tick's answers. `finish` waits for what is under way.

    `authorities` are those that the league declares for each answer.
    """

    def __init__(self, pen: Pen, folder: Path, authorities: Sequence[Anchor]) -> None:
        self.pen, self.folder, self.authorities = pen, folder, authorities
        self._sizes: queues.SimpleQueue[int | None] = queues.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._done = Stamped()

    def sealed(self) -> None:
        """Sign the book as it stands, whose last line is an answer, and have that stamped."""
        size = self.pen.checkpoint().size
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._sizes.put(size)

    def finish(self) -> Stamped:
        """What was stamped and what failed, once every answer had its turn."""
        if self._thread is not None:
            self._sizes.put(None)
            self._thread.join()
            self._thread = None
        return self._done

    def _work(self) -> None:
        while (size := self._sizes.get()) is not None:
            try:
                self._stamp(size)
            except (BeforehandError, OSError) as error:
                # The lines are sealed and signed all the same; the next tick finds what is left.
                self._done.problems.append(f"the stamps over {size} lines: {error}")

    def _stamp(self, size: int) -> None:
        now, queue = self.pen.now()[0], Queue(self.folder / QUEUE_NAME)
        by_name = {anchor.name: anchor for anchor in self.authorities}
        for item in queue_stamps(self.pen, self.folder, size, self.authorities, queue, now):
            if item.anchor not in self._done.failed:
                anchor = by_name[item.anchor]
                try_item(self.pen, self.folder, anchor, size, item, queue, now, self._done)
