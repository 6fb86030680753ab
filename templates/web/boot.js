// The page's own scripts come with the page.
