"""Pages from files, folders, addresses, sitemaps, sites and web archives, one outcome at a time."""
