"""Uploads that wait to become a study: kept in the storage, so that any process can go on with one."""

from __future__ import annotations

import json
import zlib
from base64 import b85decode, b85encode

from coombs.storage import Storage
from coombs.storage.temporary import TemporaryValues
from coombs.web.study_cache import LRUCache
from coombs.web.uploads import Upload, read_upload

MOST_DRAFTS = 20
"""Uploads that wait; the latest."""
DRAFT_SECONDS = 24 * 3600
"""How long one waits, in seconds."""
MOST_READ = 5
"""Uploads whose table is at hand in this process."""


class Drafts:
    """Uploaded files by a number that cannot be guessed; what one holds is read again where it is needed."""

    def __init__(self, storage: Storage) -> None:
        self._values = TemporaryValues(storage.database, "upload", DRAFT_SECONDS, MOST_DRAFTS)
        self._read: LRUCache[Upload] = LRUCache(MOST_READ)

    def add(self, content: bytes, file: str) -> Upload:
        """Keep a file of items, or an InputError where it is none."""
        upload = read_upload(content, file)
        packed = b85encode(zlib.compress(content, 1)).decode()
        self._values.put(upload.id, json.dumps({"file": file, "content": packed}))
        return self._read.put(upload.id, upload)

    def get(self, number: str) -> Upload | None:
        """The upload of that number, unless it is gone."""
        found = self._read.get(number)
        if found is not None:
            return found
        kept = self._values.get(number)
        if kept is None:
            return None
        fields = json.loads(kept)
        content = zlib.decompress(b85decode(fields["content"]))
        return self._read.put(number, read_upload(content, fields["file"], number))
