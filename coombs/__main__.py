"""`python -m coombs`: the command line."""

import sys

from coombs.cli import main

sys.exit(main())
